// Derivatives of collectives: of the sum of all ranks' outputs, by each rank's part of an input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate/evaluate_ranks.h"
#include "ir/text/text.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/autodiff/differentiate_forward.h"
#include "runtime/base/error.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

/// loss = sum over ranks of sum y^2 w, for y = collective x.
std::unique_ptr<Module> module_with(std::string_view attributes, std::string_view y, std::string_view y_on) {
  return parse_module(
      fmt::format("mesh {{data = 2, model = 3}} partitioned {{}} graph @g(%x: f32[2,6] on [data, -] partial "
                  "[model], %w: {1} on "
                  "{2}) {{ %y = collective %x {{{0}}} %q = mul %y, %y %z = mul %q, %w %loss = reduce add %z "
                  "{{axes = [0, 1]}} : "
                  "f32[] on [] partial [data, model] return loss = %loss }}",
                  attributes, y, y_on));
}

class CollectiveGradients : public ::testing::TestWithParam<std::array<const char*, 3>> {};

TEST_P(CollectiveGradients, EqualDifferences) {
  const auto module = module_with(GetParam()[0], GetParam()[1], GetParam()[2]);
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"loss", {"x"}, 1});
  for (const Graph::Output& output : graph.outputs)
    if (output.name == "grad.x") output.value->sharding = Sharding{{{0}, {1}}, {}};
  // Each rank's part of x for itself: no two of them are addends of one number here.
  graph.find_input("x")->result()->sharding = Sharding{{{0}, {1}}, {}};
  std::mt19937_64 random(3);
  Tensors inputs;
  inputs["x"] = testing::random_tensor({DType::f32, {4, 18}}, {}, random);
  const Shape whole = whole_shape(*graph.find_input("w")->result());
  inputs["w"] = testing::random_tensor({DType::f32, whole}, {}, random);
  const Evaluation at = evaluate_ranks(graph, inputs, {}, {});
  for (const size_t i : {0U, 17U, 30U, 71U}) {
    constexpr double kStep = 1e-4;
    Tensors moved = inputs;
    moved["x"].data[i] += kStep;
    const double above = evaluate_ranks(graph, moved, {}, {}).outputs.at("loss").data[0];
    moved["x"].data[i] -= 2 * kStep;
    const double below = evaluate_ranks(graph, moved, {}, {}).outputs.at("loss").data[0];
    EXPECT_NEAR(at.outputs.at("grad.x").data[i], (above - below) / (2 * kStep), 1e-8) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CollectiveGradients,
    ::testing::Values(
        std::array{"kind = \"all_reduce\", axis = \"model\"", "f32[2,6]", "[data, -]"},
        std::array{"kind = \"all_gather\", axis = \"model\", dim = 1", "f32[2,18]", "[data, -]"},
        std::array{"kind = \"reduce_scatter\", axis = \"model\", dim = 1", "f32[2,2]", "[data, model]"},
        std::array{"kind = \"all_to_all\", axis = \"data\", dim = 0, to = 1", "f32[4,3]", "[model, data]"}));

TEST(CollectiveGradientFaults, OfAMaximumAreRefused) {
  const auto module =
      module_with("kind = \"all_reduce\", axis = \"model\", sum = \"max\"", "f32[2,6]", "[data, -]");
  EXPECT_THROW(differentiate(*module->graphs[0], {"loss", {"x"}, 1}), Error);
}

}  // namespace
}  // namespace smelt
