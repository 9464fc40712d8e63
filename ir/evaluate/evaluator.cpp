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

/// A field of each element, such as its tangent.
template <typename S>
Evaluation fields(const Graph& graph, const Run<S>& run, double S::* field) {
  Evaluation result;
  for (const Graph::Output& output : graph.outputs)
    result.outputs[output.name] = field_of(run[output.value], output.value->dtype(), field);
  for (const auto& [name, written] : run.states())
    result.states[name] = field_of(written.array, written.dtype, field);
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
  return {values(graph, run), fields(graph, run, &Dual<double>::tangent)};
}

BoundedEvaluation evaluate_bounded(const Graph& graph, const Tensors& inputs, const Tensors& states,
                                   const EvaluateOptions& options) {
  const Arguments arguments{inputs, states, nullptr, options};
  Run<Bounded> run(graph, arguments);
  run.run();
  return {values(graph, run), fields(graph, run, &Bounded::error)};
}

}  // namespace smelt
