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

TEST_F(QuantisationAware, BoundsThatDifferAreNamed) {
  expect_good(smelt(train("--run-dir run --steps 1")));
  const Checkpoint weights = Checkpoint::open(path("run/model/model.safetensors"));
  std::vector<TensorView> tensors = weights.tensors();
  const float other = 3;
  TensorView bound = weights.at("model.layers.0.self_attn.q_proj.input_bound");
  bound.name = "model.layers.0.self_attn.k_proj.input_bound";
  bound.bytes = std::as_bytes(std::span(&other, 1));
  tensors.push_back(bound);
  write_safetensors(path("two.safetensors"), tensors);
  expect_error(smelt("evaluate run --weights two.safetensors --data text.txt --length 32"),
               "expected one bound for the activations that both read");
}

}  // namespace
}  // namespace smelt::test
