// Inference by several processes: smelt launch -- smelt generate, evaluate and run.
#include <fmt/format.h>

#include "compiler/cli/shared/npy.h"
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

class InferenceProcesses : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    const std::string sizes = R"("vocab_size": 256, "hidden": 16, "max_positions": 32, "tokenizer": "bytes",
                                 "init": {"deviation": 0.3}, "decoder": {"layers": 1, "heads": 4})";
    spill(path("spec.json"), R"({"family": "gpt2", )" + sizes + "}");
    spill(path("both.json"), R"({"family": "bart", "encoder": {"layers": 1, "heads": 4}, )" + sizes +
                                 R"(, "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}})");
  }

  Outcome launched(int ranks, const std::string& command) const {
    return smelt(fmt::format("launch -n {} -- smelt {}", ranks, command));
  }
  /// One rank's output, and nothing behind a rank's name.
  void expect_same(int ranks, const std::string& command, const std::string& mesh = {}) const {
    const Outcome one = smelt(command), all = launched(ranks, command + mesh);
    expect_good(one), expect_good(all);
    EXPECT_EQ(all.out, one.out) << command;
    EXPECT_EQ(all.err.find("rank 1: "), std::string::npos) << all.err;
    EXPECT_FALSE(one.out.empty());
  }
};

const std::string kContinue =
    "generate spec.json --from-scratch --seed 3 --threads 1 --max T=32 --max-new-tokens 9 ";

TEST_F(InferenceProcesses, GenerateWhatOneDoes) {
  expect_same(2, kContinue + "--prompt abc", " --mesh model=2");
  expect_same(4, kContinue + "--prompt abc --prompt xy --do-sample --top-p 0.9 --json");
}

TEST_F(InferenceProcesses, MultiplyBytesAsOneDoes) {
  expect_same(2, kContinue + "--prompt abc --prompt xy --weight-type int8");
}

TEST_F(InferenceProcesses, SearchInBeams) {
  expect_same(2, kContinue + "--prompt abc --prompt z --num-beams 3 --sampler --precision bf16");
}

TEST_F(InferenceProcesses, TranslateSources) {
  expect_same(
      2,
      "generate both.json --from-scratch --seed 3 --threads 1 --max T=20,S=12 --max-new-tokens 7 --ids "
      "\"5 6 7\" --ids \"9 20 8 3\" --num-beams 2");
}

/// A launcher gives standard input to one of them.
TEST_F(InferenceProcesses, ReadPromptsOfTheFirst) {
  spill(path("go.sh"), "printf 'a prompt' | " + binary() + " launch -n 2 -- smelt " + kContinue +
                           "--prompt - -o results.jsonl\n");
  expect_good(shell("sh go.sh"));
  const std::string all = slurp(path("results.jsonl"));
  expect_good(smelt(kContinue + "--prompt 'a prompt' -o one.jsonl"));
  EXPECT_EQ(all, slurp(path("one.jsonl")));
  EXPECT_FALSE(all.empty());
}

/// Each rank reads its parts of the files.
TEST_F(InferenceProcesses, ReadTheirPartsOfAModel) {
  expect_same(4, "generate $GOLDEN --ids \"3 1 4 1 5\" --max-new-tokens 12 --max T=24 --threads 1");
}

TEST_F(InferenceProcesses, EvaluateAndRun) {
  write_text("text.txt", 30);
  const std::string evaluate =
      "evaluate spec.json --from-scratch --seed 3 --threads 1 --data text.txt --data-format bytes --batch 2 "
      "--length 16 --json";
  const std::string key = "{\"loss\": ";
  const auto loss = [&](const Outcome& outcome) {
    const size_t at = outcome.out.find(key);
    return at == std::string::npos ? -1.0 : std::stod(outcome.out.substr(at + key.size()));
  };
  const Outcome one = smelt(evaluate), two = launched(2, evaluate);
  expect_good(one), expect_good(two);
  EXPECT_GT(loss(one), 0) << one.out;
  EXPECT_NEAR(loss(two), loss(one), 1e-5);
  HostTensor ids{"input_ids", DType::i32, {1, 3}, {}};
  ids.bytes.resize(3 * sizeof(int32_t));
  write_npy(path("ids.npy"), ids);
  const std::string run = "run $GOLDEN --entry logits --input input_ids=ids.npy --save logits=";
  expect_good(smelt(run + "one.npy")), expect_good(launched(2, run + "two.npy"));
  const HostTensor expected = read_npy(path("one.npy")), found = read_npy(path("two.npy"));
  ASSERT_EQ(found.shape, expected.shape);
  for (size_t i = 0; i < expected.as<float>().size(); ++i)
    ASSERT_NEAR(found.as<float>()[i], expected.as<float>()[i], 1e-5) << i;
}

TEST_F(InferenceProcesses, RunAPlanOfTheirMesh) {
  expect_good(smelt("compile spec.json --mode infer --max B=1,T=32 --mesh model=2 -o two.plan"));
  const std::string more = " --from-scratch --seed 3 --threads 1 --max-new-tokens 9 --prompt abc";
  const Outcome one = smelt(kContinue + "--prompt abc"), two = launched(2, "generate two.plan" + more);
  expect_good(two);
  EXPECT_EQ(two.out, one.out);
  expect_error(smelt("generate two.plan" + more), "the plan is for 2 ranks");
  expect_error(launched(4, "generate two.plan" + more), "there are 4");
}

TEST_F(InferenceProcesses, Measure) {
  const std::string bench = "bench spec.json --threads 1 --batch 2 --length 6 --warm-up 1 --steps 2 --json ";
  for (const char* what : {"--generate --new-tokens 4", "--infer"}) {
    const Outcome two = launched(2, bench + what);
    expect_good(two);
    EXPECT_NE(two.out.find("\"planned_mib\""), std::string::npos) << two.out;
    EXPECT_EQ(two.err.find("\"planned_mib\""), std::string::npos) << two.err;
  }
}

TEST_F(InferenceProcesses, RefuseWhatDoesNotFit) {
  expect_error(smelt(kContinue + "--prompt a --mesh model=2"), "smelt launch -n 2 -- smelt generate");
  expect_error(launched(2, kContinue + "--prompt a --mesh data=2"), "along the axis model");
  expect_error(launched(3, kContinue + "--prompt a"), "decoder.heads");
  spill(path("seeds.sh"), binary() + " " + kContinue + "--prompt a --do-sample --top-k 0 --seed $RANK\n");
  const Outcome seeds = smelt("launch -n 2 -- sh seeds.sh");
  EXPECT_NE(seeds.status, 0);
  EXPECT_NE(seeds.err.find("seed"), std::string::npos) << seeds.err;
}

/// Under one name, such as on two hosts.
TEST_F(InferenceProcesses, RefuseOtherWeights) {
  for (const char* rank : {"0", "1"}) fs::copy(kGolden, path(rank), fs::copy_options::recursive);
  const fs::path weights = fs::path(path("1")) / "model.safetensors";
  std::string bytes = slurp(weights);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  spill(weights, bytes);
  spill(path("go.sh"),
        "cd $RANK && " + binary() + " generate . --ids '3 1 4' --max-new-tokens 2 --max T=24 --threads 1\n");
  const Outcome other = smelt("launch -n 2 -- sh go.sh");
  EXPECT_NE(other.status, 0);
  EXPECT_TRUE(has(other.err, "weights' numbers")) << other.err;
}

TEST_F(InferenceProcesses, PlansSayWhatARankHas) {
  const std::string dump = "dump spec.json --mode infer --max B=1,T=32 ";
  const Outcome shown = smelt(dump + "--mesh model=2 --explain-sharding");
  expect_good(shown);
  EXPECT_NE(shown.out.find("@decode all_gather model f32[B,1,256]"), std::string::npos) << shown.out;
  const auto cache = [](const Outcome& outcome) {
    const size_t at = outcome.out.find("decode             cache");
    const size_t row = at == std::string::npos ? outcome.out.find("cache") : at;
    std::string digits;
    for (const char c : outcome.out.substr(row, outcome.out.find('\n', row) - row))
      if (c >= '0' && c <= '9') digits += c;
    return digits.empty() ? 0 : std::stoll(digits);
  };
  const auto one = cache(smelt(dump + "--summary")), two = cache(smelt(dump + "--mesh model=2 --summary"));
  EXPECT_EQ(one, int64_t{2} * 32 * 16 * 4) << "keys and values, places, width, bytes";
  EXPECT_EQ(two * 2, one);
}

}  // namespace
}  // namespace smelt::test
