// rewrite_reductions and rematerialize on random training graphs: the evaluator's results stay, and a second
// run finds nothing to do.
#include "passes/analysis.h"
#include "passes/graph/autodiff/rematerialize.h"
#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/simplify/simplify.h"
#include "tests/passes/support.h"
#include "tests/support/random_graph.h"

namespace smelt {
namespace {

std::unique_ptr<Module> random_training_graph(uint64_t seed) {
  testing::RandomGraphOptions shape;
  shape.scalar = true;
  auto module = testing::random_module(seed, shape);
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"loss", {}, 1});
  decompose(graph, {});
  if (seed % 2 == 0) simplify(graph, {});
  return module;
}

/// norm(a - b) / (1 + norm(b)): gradients that are zero in exact arithmetic hold rounding noise.
void expect_close(const Tensors& actual, const Tensors& expected, const Graph& graph) {
  for (const auto& [name, tensor] : expected) {
    double norm = 0, difference = 0;
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      norm += tensor.data[i] * tensor.data[i];
      difference += std::pow(tensor.data[i] - actual.at(name).data[i], 2);
    }
    EXPECT_LT(std::sqrt(difference), 1e-8 * (1 + std::sqrt(norm))) << name << "\n" << print(graph);
  }
}

class RandomReductions : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomReductions, KeepTheirResults) {
  const auto before = random_training_graph(GetParam());
  const auto after = before->clone();
  Graph& graph = *after->graphs[0];
  const EvaluateOptions options = testing::random_options(GetParam());
  const Tensors inputs = testing::random_inputs(graph, GetParam(), options.symbols);
  const Tensors states = testing::random_states(graph, GetParam(), options.symbols);
  const Tensors expected = evaluate(*before->graphs[0], inputs, states, options).outputs;

  const int depth = reduction_depth(graph);
  rewrite_reductions(graph, {});
  testing::expect_valid(graph);
  EXPECT_LE(reduction_depth(graph), depth);
  expect_close(evaluate(graph, inputs, states, options).outputs, expected, graph);
  RematerializeReport report;
  rematerialize(graph, {.report = &report});
  testing::expect_valid(graph);
  EXPECT_LE(report.bytes_after, report.bytes_before);
  expect_close(evaluate(graph, inputs, states, options).outputs, expected, graph);
}

TEST_P(RandomReductions, AreComputedAgainForAPrice) {
  const auto before = random_training_graph(GetParam());
  rewrite_reductions(*before->graphs[0], {});
  const EvaluateOptions options = testing::random_options(GetParam());
  const Tensors inputs = testing::random_inputs(*before->graphs[0], GetParam(), options.symbols);
  const Tensors states = testing::random_states(*before->graphs[0], GetParam(), options.symbols);
  const Tensors expected = evaluate(*before->graphs[0], inputs, states, options).outputs;
  for (const char* policy : {"price=0.001", "price=inf", "price=inf,layers=1,share=0.5"}) {
    const auto after = before->clone();
    Graph& graph = *after->graphs[0];
    RematerializeReport report;
    rematerialize(graph, {.report = &report, .policy = parse_recompute_policy(policy)});
    testing::expect_valid(graph);
    EXPECT_LE(report.bytes_after, report.bytes_before) << policy;
    expect_close(evaluate(graph, inputs, states, options).outputs, expected, graph);
    simplify(graph, {});
    expect_close(evaluate(graph, inputs, states, options).outputs, expected, graph);
  }
}

TEST_P(RandomReductions, AreDoneAfterOneRun) {
  const auto module = random_training_graph(GetParam());
  Graph& graph = *module->graphs[0];
  rewrite_reductions(graph, {});
  EXPECT_FALSE(rewrite_reductions(graph, {})) << print(graph);
  rematerialize(graph, {});
  EXPECT_FALSE(rematerialize(graph, {})) << print(graph);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomReductions, ::testing::Range(uint64_t{1}, uint64_t{101}));

}  // namespace
}  // namespace smelt
