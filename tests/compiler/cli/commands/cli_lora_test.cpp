// Adapters through the command line: train, use, go on, merge; and what is refused.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/engine/weights/safetensors.h"
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class Adapters : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write_text("text.txt", 100);
  }
  static std::string data() { return " --data text.txt --data-format bytes --batch 3 --length 21"; }
  static std::string train(const std::string& more) {
    return "train $GOLDEN --lr 0.01 --warmup 0 --schedule constant --eval-batches 2 --seed 7 --quiet" +
           data() + " " + more;
  }
  double loss(const std::string& model) const {
    const Outcome outcome = smelt("evaluate " + model + data() + " --json");
    expect_good(outcome);
    const Json json = Json::parse(outcome.out, nullptr, false);
    return json.is_object() ? json["loss"].get<double>() : -1;
  }
};

TEST_F(Adapters, AreShownBeforeTheyAreTrained) {
  const std::string dump = "dump $GOLDEN --emit=plan --entry train_step ";
  const Outcome adapted = smelt(dump + "--lora r=2"), plain = smelt(dump);
  expect_good(adapted);
  EXPECT_TRUE(has(adapted.out, "parameters.frozen")) << adapted.out;
  EXPECT_FALSE(has(plain.out, "parameters.frozen")) << plain.out;
  expect_error(smelt(dump + "--lora r=2,targets=q_proj"), "match no linear map");
}

TEST_F(Adapters, AreTrainedUsedContinuedAndMerged) {
  expect_good(smelt(train("--lora r=4,alpha=8,targets=c_attn+c_fc --run-dir run --steps 12")));
  const Checkpoint adapter = Checkpoint::open(path("run/adapter/adapter_model.safetensors"));
  for (const TensorView& tensor : adapter.tensors())
    EXPECT_TRUE(tensor.name.starts_with("base_model.model.transformer.h.")) << tensor.name;
  ASSERT_NE(adapter.find("base_model.model.transformer.h.0.mlp.c_fc.lora_A.weight"), nullptr);
  const Json config = Json::parse(slurp(path("run/adapter/adapter_config.json")));
  EXPECT_EQ(config["r"], 4);
  EXPECT_EQ(config["peft_type"], "LORA");
  EXPECT_EQ(config["fan_in_fan_out"], true);

  const double base = loss("$GOLDEN"), adapted = loss("$GOLDEN --adapter run/adapter");
  EXPECT_LT(adapted, base - 0.01) << "it learns";
  expect_good(smelt("export $GOLDEN --adapter run --merge-adapters -o merged"));
  EXPECT_NEAR(loss("merged"), adapted, 1e-5 * adapted);
  expect_good(smelt("generate merged --ids '32 33' --max-new-tokens 3"));
  expect_good(smelt(train("--adapter run/adapter --run-dir more --steps 12")));
  EXPECT_LT(loss("$GOLDEN --adapter more"), adapted);
}

/// What a checkpoint does not hold comes from the model again, to the same bits.
TEST_F(Adapters, ResumeToTheSameBits) {
  const std::string lora = "--lora r=2,dropout=0.1,bias=lora_only,save=ln_f ";
  expect_good(smelt(train(lora + "--run-dir whole --steps 6")));
  expect_good(smelt(train(lora + "--run-dir parts --steps 3")));
  expect_good(smelt(train(lora + "--run-dir parts --steps 6 --resume")));
  const std::string file = "/adapter/adapter_model.safetensors";
  EXPECT_EQ(slurp(path("whole" + file)), slurp(path("parts" + file)));
  const Checkpoint saved = Checkpoint::open(path("whole" + file));
  EXPECT_NE(saved.find("base_model.model.transformer.ln_f.weight"), nullptr);
  EXPECT_NE(saved.find("base_model.model.transformer.h.0.attn.c_attn.base_layer.bias"), nullptr);
  EXPECT_GT(loss("$GOLDEN --adapter whole"), 0) << "both files have its ln_f";
}

/// The frozen weights of a run in few bits: the same bits after a pause; and inference with such weights has
/// the numbers of its evaluation.
TEST_F(Adapters, AreTrainedOnWeightsOfFewBits) {
  const std::string few = "--weight-type nf4 --weight-group 16 ",
                    lora = few + "--lora r=4,targets=all-linear ";
  expect_good(smelt(train(lora + "--run-dir whole --steps 12")));
  expect_good(smelt(train(lora + "--run-dir parts --steps 5")));
  expect_good(smelt(train(lora + "--run-dir parts --steps 12 --resume")));
  const std::string file = "/adapter/adapter_model.safetensors";
  EXPECT_EQ(slurp(path("whole" + file)), slurp(path("parts" + file)));
  EXPECT_LT(loss("$GOLDEN --adapter whole " + few), loss("$GOLDEN") - 0.01) << "it learns";
  expect_error(smelt(train(lora + "--precision fp8 --steps 1")), "--weight-type=float");
  expect_error(smelt(train(few + "--steps 1")), "--lora or --train-only");
  for (const std::string type : {"int8", "int4 --weight-group 16"}) {
    const Outcome outcome =
        smelt("dump $GOLDEN --adapter whole --mode infer --emit=plan --weight-type " + type);
    expect_good(outcome);
    EXPECT_TRUE(has(outcome.out, type == "int8" ? "parameters.i8" : "parameters.packed")) << outcome.out;
    expect_good(
        smelt("generate $GOLDEN --adapter whole --ids '32 33' --max-new-tokens 3 --weight-type " + type));
  }
}

TEST_F(Adapters, WhatDoesNotFitIsAnError) {
  expect_error(smelt(train("--lora r=2,targets=q_proj --steps 1")), "match no linear map; there are c_attn");
  expect_error(smelt(train("--lora r=2,targets=lm_head --steps 1")), "lm_head is tied");
  expect_error(smelt(train("--lora r=2 --adapter run --steps 1")), "give one of them");
  expect_error(smelt("evaluate $GOLDEN --adapter nowhere" + data()), "there is no adapter_config.json");
  expect_error(smelt("export $GOLDEN --merge-adapters -o x"), "needs --adapter");
  expect_good(smelt(train("--lora r=2 --run-dir run --steps 1")));
  Json config = Json::parse(slurp(path("run/adapter/adapter_config.json")));
  config["target_modules"] = {"c_fc"};
  spill(path("run/adapter/adapter_config.json"), config.dump());
  const Outcome other = smelt("evaluate $GOLDEN --adapter run" + data());
  expect_error(other, "h.0.mlp.c_fc.lora_A.weight");
  expect_error(other, "h.0.attn.c_attn.lora_A.weight: F32");
  expect_error(smelt("export $GOLDEN --adapter run -o x"), "--merge-adapters");
}

TEST_F(Adapters, ARunThatTrainedThemIsNoModelAndGoesOnWithThem) {
  expect_good(smelt(train("--lora r=2 --run-dir run --steps 1")));
  expect_error(smelt("generate run --ids 1"),
               "expected the model that it was trained on, with --adapter run");
  const Outcome other = smelt(train("--run-dir run --steps 2 --resume"));
  expect_error(other, "run is resumed with other options: lora r=2 -> none\n");
  expect_error(other, "belongs to another plan");
}

TEST_F(Adapters, OthersMayBeFrozenToo) {
  expect_good(smelt(train("--train-only '*.ln_f.*' --run-dir run --steps 3")));
  const Checkpoint before = Checkpoint::open(kGolden), after = Checkpoint::open(path("run/model"));
  for (const TensorView& tensor : after.tensors()) {
    const TensorView* old = before.find(tensor.name);
    if (!old) continue;
    const bool same = read_floats(*old) == read_floats(tensor);
    EXPECT_EQ(same, tensor.name.find("ln_f") == std::string::npos) << tensor.name;
  }
  expect_error(smelt(train("--train-only nothing --steps 1")), "no parameter has a name that fits nothing");
}

}  // namespace
}  // namespace smelt::test
