// Training that leaves blocks out: each step has one draw for each block.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "compiler/driver/compile.h"
#include "frontend/transformer_spec.h"
#include "runtime/session/session.h"

namespace smelt {
namespace {

constexpr const char* kTwoBlocks =
    R"({"family": "gpt2", "vocab_size": 67, "hidden": 32, "max_positions": 16,
        "decoder": {"layers": 2, "heads": 4, "ffn": 48}})";

class LayerDropout : public ::testing::Test {
 protected:
  LayerDropout() {
    CompileOptions options;
    options.build.bounds = {{{"B"}, 2}, {{"T"}, 8}};
    options.build.dropout = 0, options.build.layer_dropout = 0.25;
    const TransformerSpec spec = spec_from_object(Json::parse(kTwoBlocks), "test");
    Compilation compiled = compile(build_transformer(spec, build_options(options)), options);
    session_.emplace(std::make_shared<const Plan>(std::move(compiled.plan)), SessionOptions{.threads = 1});
    session_->initialize(3);
    session_->scalar("learning_rate") = 0;
    for (size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<int32_t>(i * 5 % 67);
  }
  float loss(const char* entry, int64_t step) {
    session_->set_random(11, step, 0);
    const std::vector<InputTensor> inputs = {{"input_ids", DType::i32, {2, 8}, ids_.data()},
                                             {"labels", DType::i32, {2, 8}, ids_.data()}};
    for (const HostTensor& output : session_->run(entry, inputs))
      if (output.name == "loss" || output.name == "loss_sum") return output.as<float>()[0];
    return -1;
  }

  std::optional<Session> session_;
  std::array<int32_t, 16> ids_;
};

TEST_F(LayerDropout, RunsEachChoiceOfBlocksAsOftenAsItShould) {
  constexpr int kSteps = 400;
  std::map<float, int> counts;
  for (int step = 0; step < kSteps; ++step) ++counts[loss("train_step", step)];
  ASSERT_EQ(counts.size(), 4u) << "both blocks, either, none";
  const float whole = loss("evaluate", 0) / 14;  // targets
  EXPECT_EQ(whole, loss("evaluate", 1) / 14) << "evaluation draws nothing";
  int often = 0;
  for (const auto& [found, count] : counts) {
    const bool has_all = std::abs(found - whole) < 1e-5F;
    if (has_all) often = count;
    EXPECT_GE(count, has_all ? 180 : 8) << found;  // of 225, 75 and 25
  }
  EXPECT_NEAR(often, kSteps * 0.75 * 0.75, 40);
}

}  // namespace
}  // namespace smelt
