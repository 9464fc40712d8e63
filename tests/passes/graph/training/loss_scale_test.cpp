// The loss scale over steps of which some overflow.
#include "passes/graph/training/loss_scale.h"

#include "tests/passes/support.h"

namespace smelt {
namespace {

TEST(LossScaling, HalvesOnOverflowAndDoublesAfterGoodSteps) {
  Module module;
  Graph& graph = module.add_graph("main");
  GraphBuilder b(graph);
  Value* norm = b.input("norm", {DType::f32, {}});
  const LossScaling scaling{true, 8, 3};
  Value* finite = is_finite(b, norm);
  loss_scale(b, scaling);
  adapt_loss_scale(b, scaling, norm, finite);
  testing::expect_valid(graph);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  Tensors states;
  for (const State& state : module.states) states[state.name] = {DType::f32, {}, {state.init.a}};
  const std::vector<double> norms = {1, 1, 1, 5, inf, nan, -inf, 1, inf, inf, 1, 1, 1};
  const std::vector<double> scales = {8, 8, 16, 16, 8, 4, 2, 2, 1, 1, 1, 1, 2};
  const std::vector<double> skipped = {0, 0, 0, 0, 1, 2, 3, 3, 4, 5, 5, 5, 5};
  double used = 8;
  for (size_t i = 0; i < norms.size(); ++i) {
    const Evaluation result = evaluate(graph, {{"norm", {DType::f32, {}, {norms[i]}}}}, states, {});
    for (const auto& [name, tensor] : result.states) states[name] = tensor;
    EXPECT_EQ(result.outputs.at("loss_scale").data[0], used) << i;
    EXPECT_EQ(states.at("loss_scale").data[0], scales[i]) << i;
    EXPECT_EQ(states.at("skipped_steps").data[0], skipped[i]) << i;
    EXPECT_EQ(result.outputs.at("skipped_steps").data[0], skipped[i]) << i;
    used = scales[i];
  }
}

}  // namespace
}  // namespace smelt
