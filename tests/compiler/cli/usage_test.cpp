// Words that the command line does not know, and options that change nothing.
#include "compiler/cli/usage.h"

#include <gtest/gtest.h>

#include "compiler/cli/command.h"
#include "compiler/cli/generation_flags.h"

namespace smelt::cli {
namespace {

std::string problem_with(std::vector<std::string> words) {
  CLI::App app{"test"};
  app.require_subcommand(1);
  add_compile(app);
  add_generate(app);
  add_evaluate(app);
  std::ranges::reverse(words);  // as the library wants them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& problem) {
    return usage_problem(app, problem);
  }
  return "nothing";
}

void expect_start(const std::string& text, const std::string& start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << text;
}

TEST(Usage, UnknownCommandsNameTheirNeighbours) {
  expect_start(problem_with({"complie", "x"}), "there is no command 'complie'; did you mean compile?\n");
  expect_start(problem_with({"frobnicate"}),
               "there is no command 'frobnicate'\n`smelt --help` lists the comm");
}

TEST(Usage, UnknownOptionsNameTheirNeighbours) {
  expect_start(problem_with({"generate", "m", "--tempreature=1"}),
               "generate has no option --tempreature; did you mean --temperature?\n`smelt generate --help`");
  expect_start(problem_with({"evaluate", "m", "--bach", "3"}),
               "evaluate has no option --bach; did you mean --batch?");
  expect_start(problem_with({"compile", "m", "--zzzz"}), "compile has no option --zzzz\n");
  expect_start(problem_with({"compile", "m", "n"}), "compile takes no further word 'n'\n");
}

TEST(Usage, OtherMistakesKeepTheirMessage) {
  EXPECT_NE(problem_with({"compile"}).find("model"), std::string::npos) << problem_with({"compile"});
}

TEST(GenerationFlags, RemarksAreGrammatical) {
  GenerationFlags flags;
  EXPECT_EQ(flags.remark({}), "");
  flags.temperature = 0.5;
  EXPECT_EQ(flags.remark({}), "note: --temperature changes nothing without --do-sample");
  flags.top_k = 3;
  EXPECT_EQ(flags.remark({}), "note: --temperature, --top-k change nothing without --do-sample");
  GenerationOptions sampled;
  sampled.do_sample = true;
  EXPECT_EQ(flags.remark(sampled), "");
  flags.length_penalty = 2;
  EXPECT_EQ(flags.remark(sampled),
            "note: --length-penalty changes nothing without beam search, which is not supported yet");
}

TEST(GenerationFlags, HelpSaysWhatIsNotThere) {
  CLI::App app{"test"};
  GenerationFlags().add_to(app);
  for (const char* name : {"--num-beams", "--length-penalty"})
    EXPECT_NE(app.get_option(name)->get_description().find("not supported yet"), std::string::npos) << name;
}

}  // namespace
}  // namespace smelt::cli
