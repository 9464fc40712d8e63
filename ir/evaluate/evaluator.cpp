#include "ir/evaluate/evaluator.h"

#include "ir/evaluate/graph_run.h"

namespace smelt {
namespace {

using namespace evaluation;

template <typename S>
Evaluation values(const Graph& graph, const Run<S>& run) {
  Evaluation result;
  for (const Graph::Output& output : graph.outputs)
    result.outputs[output.name] = values_of(run[output.value], output.value->dtype());
  for (const auto& [name, written] : run.states())
    result.states[name] = values_of(written.array, written.dtype);
  return result;
}

Evaluation tangents(const Graph& graph, const Run<Dual<double>>& run) {
  Evaluation result;
  for (const Graph::Output& output : graph.outputs)
    result.outputs[output.name] = tangents_of(run[output.value], output.value->dtype());
  for (const auto& [name, written] : run.states())
    result.states[name] = tangents_of(written.array, written.dtype);
  return result;
}

template <typename S>
Evaluation evaluate_with(const Graph& graph, const Arguments& arguments) {
  Run<S> run(graph, arguments);
  run.run();
  return values(graph, run);
}

}  // namespace

Evaluation evaluate(const Graph& graph, const Tensors& inputs, const Tensors& states,
                    const EvaluateOptions& options) {
  const Arguments arguments{inputs, states, nullptr, options};
  return options.single ? evaluate_with<float>(graph, arguments) : evaluate_with<double>(graph, arguments);
}

DualEvaluation evaluate_dual(const Graph& graph, const Tensors& inputs, const Tensors& states,
                             const Tensors& tangent, const EvaluateOptions& options) {
  const Arguments arguments{inputs, states, &tangent, options};
  Run<Dual<double>> run(graph, arguments);
  run.run();
  return {values(graph, run), tangents(graph, run)};
}

}  // namespace smelt
