#include "passes/graph/training/apply_optimizer.h"

#include <charconv>
#include <map>

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/training/flatten_parameters.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view prefix = "grad.";

std::map<std::string, Value*, std::less<>> gradients_by_name(Graph& graph) {
  std::map<std::string, Value*, std::less<>> gradients;
  llvm::erase_if(graph.outputs, [&](const Graph::Output& output) {
    if (!output.name.starts_with(prefix)) return false;
    gradients[output.name.substr(prefix.size())] = output.value;
    return true;
  });
  return gradients;
}

}  // namespace

std::vector<Value*> take_gradients(Graph& graph, const State& flat) {
  const auto gradients = gradients_by_name(graph);
  std::vector<Value*> parts;
  for (const Segment& segment : flat.segments) {
    auto it = gradients.find(segment.name);
    if (it == gradients.end())
      fail(
          "apply_optimizer: graph @{} has no output \"grad.{}\"; run differentiate over all parameters first",
          graph.name, segment.name);
    parts.push_back(it->second);
  }
  return parts;
}

Value* take_flat_gradient(GraphBuilder& b, const State& flat) {
  const Type type = {DType::f32, flat.shape};
  return b.create(Op::pack, take_gradients(b.graph(), flat), {attr::state(flat.name)}, type)->result();
}

bool apply_optimizer(Graph& graph, const ApplyOptimizerOptions& options) {
  const PhaseMark mark(graph, Phase::update);
  GraphBuilder b(graph);
  b.set_source("optimizer");
  Value* gradient = take_flat_gradient(b, options.keep_gradients
                                              ? declare_flat_state(b.module(), "gradients", Role::gradient)
                                              : flat_parameters(b.module()));
  if (options.keep_gradients) b.update("gradients", gradient);
  Value* factor = options.scaling.on ? b.reciprocal(loss_scale(b, options.scaling)) : nullptr;
  b.output("gradient_norm", build_update(b, gradient, factor, options));
  return true;
}

}  // namespace smelt
