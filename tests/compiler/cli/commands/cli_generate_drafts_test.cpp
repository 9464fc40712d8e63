// smelt generate with drafts: the ids are those of plain decoding, whatever makes the drafts.
#include <nlohmann/json.hpp>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class GenerateDrafts : public CommandLine {
 protected:
  struct Counts {
    int64_t read = 0, kept = 0;
  };

  void SetUp() override {
    CommandLine::SetUp();
    write_spec("model.json", 256, 32);
    write_spec("other.json", 256, 16);  // other weights
    write_prompts();
  }
  void write_spec(const std::string& name, int words, int hidden) const {
    const Json spec = {{"family", "llama"},
                       {"vocab_size", words},
                       {"hidden", hidden},
                       {"max_positions", 64},
                       {"tokenizer", "bytes"},
                       {"init", {{"deviation", 0.3}}},
                       {"decoder", {{"layers", 2}, {"heads", 2}, {"ffn", 40}}}};
    spill(path(name), spec.dump());
  }
  /// More prompts than run at once, of unequal lengths.
  void write_prompts() const {
    std::string text;
    for (int i = 0; i < 20; ++i)
      text += Json({{"ids", std::vector<int>(static_cast<size_t>(1 + i * 7 % 9), 3 + i)}}).dump() + "\n";
    spill(path("p.jsonl"), text);
  }
  static std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line, nullptr, false));
    return lines;
  }
  static std::string command(const std::string& options) {
    return "generate model.json --from-scratch --max T=48 --max-new-tokens 30 " + options;
  }
  /// Returns the counts of drafts of all results, after a check that the results are those without drafts.
  Counts counts_of(const std::string& options, const std::string& drafts) const {
    const Outcome plain = smelt(command("--prompts p.jsonl --json " + options));
    const Outcome drafted = smelt(command("--prompts p.jsonl --json " + options + " " + drafts));
    expect_good(plain), expect_good(drafted);
    std::vector<Json> lines = lines_of(drafted.out);
    Counts counts;
    for (Json& line : lines) {
      counts.read += line.value("draft_tokens", -1), counts.kept += line.value("kept_draft_tokens", -1);
      line.erase("draft_tokens"), line.erase("kept_draft_tokens");
    }
    EXPECT_GE(lines.size(), 20U);
    EXPECT_EQ(lines, lines_of(plain.out));
    return counts;
  }
};

constexpr const char* kWaysToDecode[] = {
    "", "--do-sample --temperature 0.9 --top-k 40 --seed 3",
    "--do-sample --num-return-sequences 2 --repetition-penalty 1.3 --no-repeat-ngram-size 3"};

TEST_F(GenerateDrafts, OfTheSameModelAreAllKept) {
  for (const char* options : kWaysToDecode) {
    const Counts counts = counts_of(options, "--draft model.json --draft-tokens 5");
    EXPECT_GT(counts.read, 200) << options;
    EXPECT_EQ(counts.kept, counts.read) << options;
  }
}

TEST_F(GenerateDrafts, OfAnotherModelAreSeldomKept) {
  for (const char* options : kWaysToDecode) {
    const Counts counts = counts_of(options, "--draft other.json");
    EXPECT_GT(counts.read, 50) << options;
    EXPECT_LT(counts.kept, counts.read / 4) << options;
  }
}

TEST_F(GenerateDrafts, OfTheTextAreCountedToo) {
  for (const char* drafts : {"--draft ngram", "--draft-tokens 3"})
    for (const char* options : kWaysToDecode) counts_of(options, drafts);
}

TEST_F(GenerateDrafts, AreToldWithTheSpeed) {
  const Outcome plain = smelt(command("--prompt abc"));
  const Outcome drafted = smelt(command("--prompt abc --draft model.json"));
  expect_good(drafted);
  EXPECT_EQ(drafted.out, plain.out);
  EXPECT_TRUE(has(drafted.err, "30 new tokens in ")) << drafted.err;
  EXPECT_TRUE(has(drafted.err, " drafted tokens kept; caches ")) << drafted.err;
}

TEST_F(GenerateDrafts, ComeFromAPlanToo) {
  expect_good(
      smelt("compile model.json --mode infer --max B=8 --max T=48 --cache-pages 24 --sampler "
            "--step-tokens 32 -o draft.plan"));
  const Outcome none = smelt(command("--prompt abc --draft draft.plan"));
  EXPECT_EQ(smelt(command("--prompt abc")).out, none.out) << none.err;
  expect_good(smelt("compile model.json --mode infer --max B=8 --max T=48 -o rows.plan"));
  expect_error(smelt(command("--prompt abc --draft rows.plan")),
               "rows.plan: its plan has no runs of several");
}

TEST_F(GenerateDrafts, AreRefusedByName) {
  write_spec("words.json", 300, 32);
  const std::string prompt = "--prompt abc ";
  expect_error(smelt(command(prompt + "--draft words.json")),
               "words.json: it has a vocabulary of 300 tokens, and ");
  expect_error(smelt(command(prompt + "--draft model.json --draft-tokens 0")), "at least one token");
  expect_error(smelt(command(prompt + "--draft-weights w")), "expected --draft with the model");
  expect_error(smelt(command(prompt + "--draft model.json --num-beams 2")), "--draft and num_beams 2: ");
  expect_error(smelt(command(prompt + "--draft model.json --sliding-window")),
               "--draft and --sliding-window");
  expect_error(smelt(command(prompt + "--draft model.json --no-kv-cache")), "no caches in pages");
  expect_error(smelt(command(prompt + "--draft model.json --max-new-tokens 60")), "prompt 0: a prompt of 3");
  expect_good(
      smelt("compile $GOLDEN --mode infer --max B=8 --max T=32 --cache-pages 24 --sampler "
            "--step-tokens 32 -o draft.plan"));
  expect_error(smelt("generate $GOLDEN --ids 3 --draft draft.plan"), "name them with --draft-weights");
  const Outcome line = smelt(command("--prompts p.jsonl --draft ngram --max-new-tokens 48"));
  expect_error(line, "p.jsonl, line 2: a prompt of 8 tokens and 48 new ones exceed");
  EXPECT_EQ(line.out, "");
}

TEST_F(GenerateDrafts, NeedTheSameTokenizer) {
  for (const std::string name : {"first", "second"}) {
    fs::create_directory(path(name));
    write_spec(name + "/spec.json", 4, 16);
    Json spec = Json::parse(slurp(path(name + "/spec.json")));
    spec.erase("tokenizer");
    spill(path(name + "/spec.json"), spec.dump());
    spill(path(name + "/tokenizer.json"),
          R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, ")" + name +
              R"(": 3}}, "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  }
  const std::string generate = "generate first --from-scratch --max T=20 --max-new-tokens 9 --prompt 'a b' ";
  expect_error(smelt(generate + "--draft second"), "second: its token 3 is 'second', and that of ");
  const Outcome plain = smelt(generate), drafted = smelt(generate + "--draft first");
  expect_good(drafted);
  EXPECT_EQ(drafted.out, plain.out);
}

}  // namespace
}  // namespace smelt::test
