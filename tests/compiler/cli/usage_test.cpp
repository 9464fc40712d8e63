// Words that the command line does not know, and options that change nothing.
#include "compiler/cli/shared/usage.h"

#include <gtest/gtest.h>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/generation_flags.h"
#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

std::string problem_with(std::vector<std::string> words) {
  CLI::App app{"test"};
  app.require_subcommand(1);
  add_compile(app);
  add_generate(app);
  add_evaluate(app);
  add_train(app);
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

TEST(Usage, OptionsOfOtherProgramsNameTheirOwn) {
  expect_start(problem_with({"evaluate", "m", "--batch-size", "3"}),
               "evaluate has no option --batch-size; did you mean --batch?\n");
  expect_start(problem_with({"generate", "m", "--max_tokens=3"}),
               "generate has no option --max_tokens; did you mean --max-new-tokens?\n");
  expect_start(problem_with({"train", "m", "--num-epochs", "3"}),
               "train has no option --num-epochs; did you mean --epochs?\n");
  expect_start(problem_with({"train", "m", "--gradient-accumulation-steps", "3"}),
               "train has no option --gradient-accumulation-steps; did you mean --accumulate?\n");
}

TEST(Usage, UnknownOptionsNameTheirNeighbours) {
  expect_start(problem_with({"generate", "m", "--tempreature=1"}),
               "generate has no option --tempreature; did you mean --temperature?\n`smelt generate --help`");
  expect_start(problem_with({"evaluate", "m", "--bach", "3"}),
               "evaluate has no option --bach; did you mean --batch?");
  expect_start(problem_with({"compile", "m", "--zzzz"}), "compile has no option --zzzz\n");
  expect_start(problem_with({"compile", "m", "n"}), "compile takes no further word 'n'\n");
}

TEST(Usage, RangesAreInPlainWords) {
  expect_start(problem_with({"train", "m", "--steps", "-1"}), "--steps: -1, expected a number from 0 on\n");
  expect_start(problem_with({"train", "m", "--zero", "7"}),
               "--zero=7: expected a whole number from 0 to 3\n");
  expect_start(problem_with({"train", "m", "--length", "0"}), "--length: 0, expected a number above 0\n");
}

TEST(Usage, OppositesExcludeEachOther) {
  expect_start(problem_with({"compile", "m", "--kv-cache", "--no-kv-cache"}), "--");
  EXPECT_NE(problem_with({"compile", "m", "--kv-cache", "--no-kv-cache"}).find("excludes"),
            std::string::npos);
}

TEST(Usage, OtherMistakesKeepTheirMessage) {
  EXPECT_NE(problem_with({"compile"}).find("model"), std::string::npos) << problem_with({"compile"});
}

TEST(GenerationFlags, RemarksAreGrammatical) {
  GenerationFlags flags;
  EXPECT_EQ(flags.remark({}), "");
  flags.given["temperature"] = "0.5";
  EXPECT_EQ(flags.remark({}), "note: --temperature changes nothing without --do-sample");
  flags.given["top_k"] = "3";
  EXPECT_EQ(flags.remark({}), "note: --temperature, --top-k change nothing without --do-sample");
  GenerationOptions sampled;
  sampled.do_sample = true;
  EXPECT_EQ(flags.remark(sampled), "");
  flags.given["length_penalty"] = "2";
  EXPECT_EQ(flags.remark(sampled), "note: --length-penalty changes nothing without --num-beams");
  sampled.num_beams = 2;
  EXPECT_EQ(flags.remark(sampled), "");
}

TEST(GenerationFlags, OverrideTheModelsOwnOptions) {
  GenerationFlags flags;
  const Json about = {{"generation", {{"num_beams", 4}, {"top_k", 7}}}, {"eos_token_id", {5}}};
  flags.given = {{"num_beams", "2"}, {"early_stopping", "never"}, {"suppress_tokens", "3, 4"}};
  flags.given["bad_words_ids"] = "[[1],[2,3]]", flags.given["allowed_token_ids"] = "6 7";
  const GenerationOptions options = flags.options(about, 9);
  EXPECT_EQ(options.num_beams, 2);
  EXPECT_EQ(options.top_k, 7);
  EXPECT_EQ(options.early_stopping, EarlyStopping::never);
  EXPECT_EQ(options.suppress_tokens, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(options.allowed_token_ids, (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(options.bad_words_ids, (std::vector<std::vector<int32_t>>{{1}, {2, 3}}));
  EXPECT_EQ(options.eos_token_id, std::vector<int32_t>{5});
  EXPECT_EQ(options.seed, 9u);
}

TEST(GenerationFlags, MistakesAreNamed) {
  GenerationFlags flags;
  const auto fault = [&](const char* name, const char* text) {
    flags.given = {{name, text}};
    try {
      flags.options({}, 0);
      return std::string("no error");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(fault("num_beams", "many").find("num_beams = \"many\""), std::string::npos);
  EXPECT_NE(fault("bad_words_ids", "[[1]").find("--bad-words-ids [[1]: expected JSON"), std::string::npos);
  EXPECT_NE(fault("early_stopping", "2").find("early_stopping = 2"), std::string::npos);
}

}  // namespace
}  // namespace smelt::cli
