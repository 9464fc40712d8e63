// The evaluator over any graph: composites are decomposed first.
#pragma once

#include "ir/evaluate/evaluate_ranks.h"
#include "passes/graph/simplify/decompose.h"

namespace smelt::testing {

/// The graph's value with all composites decomposed.
inline Evaluation run(const Graph& graph, const Tensors& inputs, const Tensors& states,
                      const EvaluateOptions& options = {}) {
  const std::unique_ptr<Module> copy = graph.module().clone();
  Graph& primitive = *copy->find_graph(graph.name);
  decompose(primitive, {});
  return evaluate(primitive, inputs, states, options);
}

/// The same of a partitioned graph, on all ranks of its mesh.
inline Evaluation run_ranks(const Graph& graph, const Tensors& inputs, const Tensors& states,
                            const EvaluateOptions& options = {}) {
  const std::unique_ptr<Module> copy = graph.module().clone();
  Graph& primitive = *copy->find_graph(graph.name);
  decompose(primitive, {});
  return evaluate_ranks(primitive, inputs, states, options);
}

}  // namespace smelt::testing
