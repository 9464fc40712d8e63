// smelt generate: prompts in files, results in files, and what is said of the speed.
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class Generate : public CommandLine {
 protected:
  static std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line, nullptr, false));
    return lines;
  }
  /// More prompts than run at once, of unequal lengths.
  static constexpr int kPrompts = 11;
  void write_prompts() const {
    std::string text;
    for (int i = 0; i < kPrompts; ++i)
      text += "{\"ids\": " + Json(std::vector<int>(1 + i * 7 % 5, 3 + i)).dump() + "}\n\n";
    spill(path("p.jsonl"), text);
  }
  /// The last bits of scores depend on how many rows a matmul has.
  static void expect_alike(std::vector<Json> found, std::vector<Json> expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].value("score", 0.0), expected[i].value("score", 0.0), 1e-5);
      found[i].erase("score"), expected[i].erase("score");
      EXPECT_EQ(found[i], expected[i]);
    }
  }
  static bool matches(const std::string& text, const char* pattern) {
    return std::regex_search(text, std::regex(pattern));
  }
};

TEST_F(Generate, EndsWithItsSpeed) {
  const std::string command = "generate $GOLDEN --ids '3 1 4' --max T=16 --max-new-tokens 5 ";
  const Outcome one = smelt(command);
  expect_good(one);
  EXPECT_TRUE(matches(one.err,
                      "\n5 new tokens in [0-9.]+ [mu]?s, [0-9.]+ tokens/s, the first after "
                      "[0-9.]+ [mu]?s; caches 18\\.0 KiB\n$"))
      << one.err;
  const Outcome whole = smelt(command + "--no-kv-cache --ids '5'");
  EXPECT_TRUE(matches(whole.err, "\n10 new tokens in .*, the first after .*; no caches\n$")) << whole.err;
  const Outcome beams = smelt(command + "--num-beams 3");
  EXPECT_TRUE(matches(beams.err, "\n[1-5] new tokens? in .* tokens/s; caches 54\\.0 KiB\n$")) << beams.err;
  const Outcome none = smelt(command + "--max-new-tokens 0");
  EXPECT_TRUE(matches(none.err, "\n0 new tokens in .*, 0\\.0 tokens/s; caches")) << none.err;
  EXPECT_EQ(none.out, "3 1 4 \n");
}

TEST_F(Generate, WeightsOfAByteContinueAlike) {
  const std::string command = "generate $GOLDEN --ids '3 1 4' --max T=16 --max-new-tokens 5 ";
  const Outcome floats = smelt(command), bytes = smelt(command + "--weight-type int8");
  expect_good(bytes);
  EXPECT_EQ(bytes.out, floats.out);
  const auto parameters = [](const std::string& err) {
    std::smatch found;
    std::regex_search(err, found, std::regex("parameter ([0-9.]+) KiB"));
    return std::stod(found[1]);
  };
  EXPECT_LT(parameters(bytes.err), 0.4 * parameters(floats.err));  // biases, norms and positions stay
  const Outcome wrong = smelt(command + "--weight-type int3");
  EXPECT_TRUE(has(wrong.err, "--weight-type=int3: expected float, int8, int4")) << wrong.err;
  expect_error(smelt("compile $GOLDEN --mode train --weight-type int8 -o x.plan"), "--lora or --train-only");
}

TEST_F(Generate, JsonIsForProgramsThatAskForTheSpeed) {
  const std::string command = "generate $GOLDEN --ids '3 1 4' --max-new-tokens 5 --json ";
  EXPECT_FALSE(has(smelt(command).err, "new tokens in"));
  EXPECT_TRUE(has(smelt(command + "--timing").err, "5 new tokens in"));
}

/// However many run at once, and in the order of the lines.
TEST_F(Generate, FilesOfPromptsRunInGroups) {
  write_prompts();
  const std::string command = "generate $GOLDEN --prompts p.jsonl --max-new-tokens 6 --max T=16 ";
  for (const char* options : {"", "--do-sample --top-k 0 --num-return-sequences 2", "--num-beams 3"}) {
    const Outcome eight = smelt(command + options + " -o out.jsonl");
    expect_good(eight);
    EXPECT_EQ(eight.out, "") << "the results are in the file";
    const Outcome two = smelt(command + options + " --json --max B=6");
    const auto lines = lines_of(two.out);
    expect_alike(lines_of(slurp(path("out.jsonl"))), lines);
    const size_t each = has(options, "return") ? 2 : 1;
    ASSERT_EQ(lines.size(), kPrompts * each) << options;
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["line"], 1 + 2 * (i / each)) << options;
    EXPECT_EQ(lines[0].contains("score"), has(options, "beams"));
  }
}

/// Their entries have kinds of steps that other plans lack.
TEST_F(Generate, PlansThatChooseTokensAreReadFromFiles) {
  expect_good(smelt("compile $GOLDEN --mode infer --sampler --max B=2,T=16 -o model.plan"));
  const std::string rest = " --ids '3 1 4' --max-new-tokens 6 --num-beams 2";
  const Outcome plan = smelt("generate model.plan --weights $GOLDEN" + rest);
  expect_good(plan);
  EXPECT_EQ(plan.out, smelt("generate $GOLDEN" + rest).out);
}

TEST_F(Generate, EightPromptsRunAtOnceUnlessMaxSaysMore) {
  write_prompts();
  const std::string command = "generate $GOLDEN --prompts p.jsonl --max-new-tokens 1 --max T=8";
  EXPECT_TRUE(has(smelt(command).err, "; caches 72.0 KiB\n")) << smelt(command).err;
  EXPECT_TRUE(has(smelt(command + ",B=11").err, "; caches 99.0 KiB\n")) << smelt(command + ",B=11").err;
  EXPECT_TRUE(has(smelt(command + " --num-beams 2").err, "; caches 144.0 KiB\n"));
}

TEST_F(Generate, FilesGiveWhatTheCommandLineGives) {
  write_prompts();
  const Outcome file = smelt("generate $GOLDEN --prompts p.jsonl --max-new-tokens 4 --ids '7 8'");
  expect_good(file);
  const Outcome one = smelt("generate $GOLDEN --ids '7 8' --max-new-tokens 4");
  EXPECT_EQ(file.out.substr(0, file.out.find('\n')) + " \n", one.out) << "first those of the command line";
  EXPECT_EQ(std::ranges::count(file.out, '\n'), kPrompts + 1);
}

TEST_F(Generate, LinesOfTextGoThroughTheTokenizer) {
  expect_good(shell("cp -r '" + kGolden.string() + "' model"));
  spill(path("model/tokenizer.json"),
        R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "three": 3, "one": 1}},
            "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  spill(path("p.txt"), "three one\r\n\none three one\n");
  const auto lines = lines_of(smelt("generate model --prompts p.txt --max-new-tokens 2 --json").out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["prompt_ids"], Json({3, 1}));
  EXPECT_EQ(lines[1]["prompt_ids"], Json({1, 3, 1}));
  EXPECT_EQ(lines[1]["line"], 3);
  EXPECT_TRUE(smelt("generate model --prompts p.txt --max-new-tokens 2").out.starts_with("three one"));
}

TEST_F(Generate, NamesTheLineThatIsWrong) {
  spill(path("p.jsonl"), "{\"ids\": [1, 2]}\n\n{\"ids\": [1, 131]}\n");
  const std::string command = "generate $GOLDEN --prompts p.jsonl -o out.jsonl ";
  expect_error(smelt(command), "p.jsonl, line 3: token 1 is 131, outside the model's vocabulary of 131");
  spill(path("p.jsonl"), "{\"ids\": [1]}\n{\"ids\": [1, 2, 3]}\n");
  expect_error(smelt(command + "--max T=8 --max-new-tokens 7"), "p.jsonl, line 2: its 3 tokens and 7 new");
  spill(path("p.txt"), "hello\n");
  expect_error(smelt("generate $GOLDEN --prompts p.txt"), "p.txt, line 1: a text prompt needs a tokenizer");
  expect_error(smelt("generate $GOLDEN --prompts nowhere.txt"), "nowhere.txt");
  EXPECT_FALSE(fs::exists(path("out.jsonl")));
}

TEST_F(Generate, AFileOfResultsIsWholeOrIsNotThere) {
  spill(path("p.jsonl"), "{\"ids\": [1, 2]}\n");
  spill(path("out.jsonl"), "of before");
  expect_error(smelt("generate $GOLDEN --prompts p.jsonl -o out.jsonl --num-beams 65"), "num_beams 65");
  EXPECT_EQ(slurp(path("out.jsonl")), "of before");
  expect_error(smelt("generate $GOLDEN --prompts p.jsonl -o nowhere/out.jsonl"), "nowhere/out.jsonl");
  expect_error(smelt("generate $GOLDEN --prompts p.jsonl -o ./p.jsonl"), "the file of the prompts");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("")), {}), 4) << "no temporary is left";
}

}  // namespace
}  // namespace smelt::test
