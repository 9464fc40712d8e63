// smelt train --qat int8, and the commands that read its runs.
#include "runtime/engine/weights/safetensors.h"
#include "runtime/system/json_text.h"
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

class QuantisationAware : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write_text("text.txt", 400);
    fs::create_directories(path("llama"));
    spill(path("llama/config.json"), R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
        "vocab_size": 256, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "max_position_embeddings": 64, "tie_word_embeddings": false,
        "rms_norm_eps": 1e-6, "hidden_act": "silu"})");
  }
  static std::string train(const std::string& more) {
    return "train llama --data text.txt --length 32 --batch 4 --lr 0.01 --warmup 0 --schedule constant "
           "--quiet --qat int8 " +
           more;
  }
  double loss(const std::string& model) const {
    const Outcome outcome = smelt("evaluate " + model + " --data text.txt --length 32 --json");
    expect_good(outcome);
    return parse_json(outcome.out, model).at("loss").get<double>();
  }
};

TEST_F(QuantisationAware, RunsAreInt8WithoutAnOption) {
  expect_good(smelt(train("--run-dir run --steps 20")));
  const Checkpoint weights = Checkpoint::open(path("run/model/model.safetensors"));
  EXPECT_NE(weights.find("model.layers.0.self_attn.q_proj.input_bound"), nullptr);
  EXPECT_EQ(weights.find("model.layers.0.self_attn.k_proj.input_bound"), nullptr) << "it is that of q_proj";
  EXPECT_EQ(weights.find("lm_head.input_bound"), nullptr) << "the last matmul stays in floats";
  const Outcome plan = smelt("dump run --mode infer --emit=program");
  EXPECT_TRUE(has(plan.out, "gemm i8")) << plan.err;
  expect_good(smelt("generate run --prompt line --max-new-tokens 4"));
  expect_good(smelt("compile run --mode infer -o run.plan"));
  EXPECT_LT(loss("run"), 5) << "it learns";
}

TEST_F(QuantisationAware, ResumesToTheSameBits) {
  expect_good(smelt(train("--run-dir whole --steps 6")));
  expect_good(smelt(train("--run-dir parts --steps 3")));
  expect_good(smelt(train("--run-dir parts --steps 6 --resume")));
  EXPECT_TRUE(slurp(path("whole/model/model.safetensors")) == slurp(path("parts/model/model.safetensors")));
}

TEST_F(QuantisationAware, AnExportHasTheNumbersOfTheRun) {
  expect_good(smelt(train("--run-dir run --steps 20")));
  expect_good(smelt("export run -o int8 --weight-type int8"));
  EXPECT_NEAR(loss("int8"), loss("run"), 1e-6);
  const Json config = parse_json(slurp(path("int8/config.json")), "config.json");
  EXPECT_EQ(config["quantization_config"]["quant_method"], "compressed-tensors");
  expect_error(smelt("export $GOLDEN -o floats --weight-type int8"), "has no bounds of activations");
}

/// Writes the run's weights and one tensor more, a bound of 3.
void write_with_bound(const fs::path& file, const fs::path& run, const std::string& name) {
  const Checkpoint weights = Checkpoint::open(run / "model/model.safetensors");
  std::vector<TensorView> tensors = weights.tensors();
  const float other = 3;
  TensorView bound = weights.at("model.layers.0.self_attn.q_proj.input_bound");
  bound.name = name, bound.bytes = std::as_bytes(std::span(&other, 1));
  tensors.push_back(bound);
  write_safetensors(file, tensors);
}

TEST_F(QuantisationAware, BoundsThatDifferAreFloatsOrNamed) {
  expect_good(smelt(train("--run-dir run --steps 1")));
  write_with_bound(path("two.safetensors"), path("run"), "model.layers.0.self_attn.k_proj.input_bound");
  const std::string evaluate = "evaluate run --weights two.safetensors --data text.txt --length 32";
  const Outcome unasked = smelt(evaluate);
  expect_good(unasked);
  EXPECT_TRUE(has(unasked.err, "are computed in floats")) << unasked.err;
  expect_good(smelt(evaluate + " --qat none"));
  expect_error(smelt(evaluate + " --qat int8"), "expected one bound for the activations that both read");
}

TEST_F(QuantisationAware, BoundsWithoutAWeightAreNamed) {
  expect_good(smelt(train("--run-dir run --steps 1")));
  write_with_bound(path("more.safetensors"), path("run"), "nowhere.input_bound");
  const Outcome found = smelt("evaluate run --weights more.safetensors --data text.txt --length 32");
  expect_good(found);
  EXPECT_TRUE(has(found.err, "no use for: nowhere.input_bound")) << found.err;
}

TEST_F(QuantisationAware, OptionsChooseFloats) {
  expect_good(smelt(train("--run-dir run --steps 1")));
  const Outcome floats = smelt("dump run --mode infer --emit=program --qat none");
  EXPECT_FALSE(has(floats.out, "gemm i8")) << floats.err;
  EXPECT_FALSE(has(floats.err, "warning")) << floats.err;
  expect_good(smelt("evaluate run --data text.txt --length 32 --qat none"));
  const std::string generate = "generate run --prompt line --max-new-tokens 4 --weight-type int8";
  const Outcome other = smelt(generate);
  expect_good(other);
  EXPECT_TRUE(has(other.err, "are computed in floats")) << other.err;
  expect_error(smelt(generate + " --qat int8"), "give --weight-type=float");
}

TEST_F(QuantisationAware, AdaptersAreRefused) {
  expect_good(smelt(train("--run-dir run --steps 1")));
  const std::string adapters = " --lora r=4,alpha=8,targets=q_proj --steps 1 --data text.txt --length 32 ";
  expect_error(smelt(train("--run-dir lora --steps 1 --lora r=4,alpha=8,targets=q_proj")),
               "adapters (--lora, --adapter, --adapters)");
  expect_error(smelt("train run/model --run-dir base" + adapters), "give --qat=none");
  expect_good(smelt("train run/model --run-dir floats --qat none" + adapters));
}

TEST_F(QuantisationAware, FaultyWeightsAreNamedByCompile) {
  expect_good(smelt(train("--run-dir run --steps 1")));
  spill(path("run/model/model.safetensors"), "no tensors");
  expect_error(smelt("compile run/model --mode infer"), "model.safetensors");
}

}  // namespace
}  // namespace smelt::test
