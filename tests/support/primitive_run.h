// Evaluation of graphs with composite operations, which are decomposed first.
#pragma once

#include "ir/evaluate/evaluate_ranks.h"
#include "passes/graph/simplify/decompose.h"

namespace smelt::testing {

/// Evaluates the graph after the decomposition of composite operations. The graph is not changed.
inline Evaluation run(const Graph& graph, const Tensors& inputs, const Tensors& states,
                      const EvaluateOptions& options = {}) {
  const std::unique_ptr<Module> copy = graph.module().clone();
  Graph& primitive = *copy->find_graph(graph.name);
  decompose(primitive, {});
  return evaluate(primitive, inputs, states, options);
}

/// Does the same for a partitioned graph, on all ranks of its mesh.
inline Evaluation run_ranks(const Graph& graph, const Tensors& inputs, const Tensors& states,
                            const EvaluateOptions& options = {}) {
  const std::unique_ptr<Module> copy = graph.module().clone();
  Graph& primitive = *copy->find_graph(graph.name);
  decompose(primitive, {});
  return evaluate_ranks(primitive, inputs, states, options);
}

}  // namespace smelt::testing
