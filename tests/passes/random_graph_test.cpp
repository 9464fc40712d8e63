// Random graphs: reverse mode equals dual numbers, and passes keep what the evaluator computes.
#include "tests/support/random_graph.h"
#include "tests/support/minimize_module.h"

#include "passes/graph/fusion/merge_gemms.h"
#include "passes/graph/simplify/simplify.h"
#include "passes/pass_manager.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::RandomGraphOptions;

class RandomGraphs : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomGraphs, ReverseModeEqualsDualNumbers) {
  RandomGraphOptions shape;
  shape.scalar = true;
  const auto module = testing::random_module(GetParam(), shape);
  testing::expect_gradients(*module->graphs[0], "loss", testing::random_options(GetParam()), GetParam(),
                            1e-7);
}

/// norm(a - b) / (1 + norm(b)): gradients that are zero in exact arithmetic hold rounding noise.
double error_of(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (const auto& [name, tensor] : b) {
    double norm = 0;
    for (double x : tensor.data) norm += x * x;
    worst = std::max(worst, a.count(name) ? testing::relative_error(a.at(name), tensor) * std::sqrt(norm) /
                                                (1 + std::sqrt(norm))
                                          : INFINITY);
  }
  return worst;
}

/// The largest error of any output after a pipeline; infinite where the pipeline throws.
double error_after(const Module& module, const std::string& pipeline, uint64_t seed) {
  const auto copy = module.clone();
  PassManagerOptions manager_options;
  manager_options.verify_each = true;
  const EvaluateOptions options = testing::random_options(seed);
  const Tensors inputs = testing::random_inputs(*module.graphs[0], seed, options.symbols);
  const Tensors states = testing::random_states(*module.graphs[0], seed, options.symbols);
  const Evaluation expected = testing::run(*module.graphs[0], inputs, states, options);
  PassManager(manager_options).add(pipeline).run(*copy);
  const Evaluation actual = testing::run(*copy->graphs[0], inputs, states, options);
  return std::max(error_of(actual.outputs, expected.outputs), error_of(actual.states, expected.states));
}

void expect_kept(const Module& module, const std::string& pipeline, uint64_t seed) {
  const double error = error_after(module, pipeline, seed);
  if (error < 1e-7) return;
  const auto fails = [&](const Module& smaller) { return !(error_after(smaller, pipeline, seed) < 1e-7); };
  ADD_FAILURE() << pipeline << ": error " << error << "\n" << print(*testing::minimize(module, fails));
}

TEST_P(RandomGraphs, PassesKeepTheResults) {
  const auto module = testing::random_module(GetParam(), {});
  for (const char* pipeline :
       {"decompose", "simplify", "decompose,simplify", "decompose,merge_gemms,simplify"})
    expect_kept(*module, pipeline, GetParam());
}

TEST_P(RandomGraphs, SimplifyKeepsGradientsAndReachesAFixedPoint) {
  RandomGraphOptions shape;
  shape.scalar = true;
  const auto module = testing::random_module(GetParam(), shape);
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"loss", {}, 1});
  decompose(graph, {});
  expect_kept(*module, "simplify", GetParam());
  simplify(graph, {});
  EXPECT_FALSE(simplify(graph, {}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range<uint64_t>(1, 81));

}  // namespace
}  // namespace smelt
