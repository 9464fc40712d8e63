// Support for tests of passes: checks of graphs, and a check of gradients against dual numbers.
#pragma once

#include <gtest/gtest.h>

#include "ir/evaluate/evaluator.h"
#include "ir/graph/builder.h"
#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/autodiff/differentiate_forward.h"
#include "passes/graph/simplify/decompose.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_tensors.h"

namespace smelt::testing {

inline void expect_valid(const Graph& graph) {
  for (const std::string& message : verify(graph)) ADD_FAILURE() << message << "\n" << print(graph);
}

inline double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i) sum += a.data[i] * b.data[i];
  return sum;
}

inline size_t count(const Graph& graph, Op op) {
  size_t n = 0;
  for (const auto& node : graph.nodes()) n += node->is(op);
  return n;
}

inline Tensor zero_tensor(const Type& type, const SymbolValues& symbols) {
  Tensor zero{type.dtype, {}, {}};
  int64_t count = 1;
  for (const Dim& dim : type.shape) zero.shape.push_back(dim.evaluate(symbols)), count *= zero.shape.back();
  zero.data.assign(static_cast<size_t>(count), 0);
  return zero;
}

/// Expects that derivatives of the scalar output `output` with respect to all parameters are correct: both
/// reverse mode (differentiate) and forward mode (differentiate_forward) must agree with the evaluation with
/// dual numbers, in random directions.
inline void expect_gradients(const Graph& graph, const std::string& output,
                             const EvaluateOptions& options = {}, uint64_t seed = 1,
                             double tolerance = 1e-9) {
  const std::unique_ptr<Module> copy = graph.module().clone();
  Graph& reverse = *copy->find_graph(graph.name);
  differentiate(reverse, {output, {}, 1});
  expect_valid(reverse);
  decompose(reverse, {});
  const std::unique_ptr<Module> forward_module = graph.module().clone();
  Graph& forward = *forward_module->find_graph(graph.name);
  decompose(forward, {});

  const Tensors inputs = random_inputs(graph, seed, options.symbols),
                states = random_states(graph, seed, options.symbols);
  const Evaluation gradients = evaluate(reverse, inputs, states, options);
  const std::unique_ptr<Module> tangent_module = graph.module().clone();
  Graph& tangents = *tangent_module->find_graph(graph.name);
  differentiate_forward(tangents, {});
  expect_valid(tangents);
  std::mt19937_64 random(seed);
  for (const Module::Parameter& parameter : graph.module().parameters)
    for (int direction = 0; direction < 3; ++direction) {
      const Tensor tangent = random_tensor(parameter.type, options.symbols, random);
      const DualEvaluation dual =
          evaluate_dual(forward, inputs, states, {{parameter.name, tangent}}, options);
      const double expected = dual.tangent.outputs.at(output).data[0];
      const double actual = dot(gradients.outputs.at("grad." + parameter.name), tangent);
      EXPECT_NEAR(actual, expected, tolerance * (1 + std::fabs(expected))) << "by " << parameter.name << "\n"
                                                                           << print(reverse);
      Tensors directed = inputs;
      for (const Module::Parameter& other : graph.module().parameters)
        directed["tangent." + other.name] =
            other.name == parameter.name ? tangent : zero_tensor(other.type, options.symbols);
      const double pushed =
          evaluate(tangents, directed, states, options).outputs.at("tangent." + output).data[0];
      EXPECT_NEAR(pushed, expected, tolerance * (1 + std::fabs(expected)))
          << "forward, by " << parameter.name << "\n"
          << print(tangents);
    }
  EXPECT_LT(
      relative_error(gradients.outputs.at(output), run(graph, inputs, states, options).outputs.at(output)),
      1e-12);
}

}  // namespace smelt::testing
