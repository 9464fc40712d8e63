#include "passes/graph/autodiff/make_backward.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr const char* kTotal = "total";

/// Names of the float inputs and parameters that the graph reads, each once.
std::vector<std::string> variables_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) {
    if (!node->is(Op::input) && !node->is(Op::parameter)) continue;
    if (!is_float(node->result()->dtype()) || node->result()->users().empty()) continue;
    const std::string& name = node->get(attr::name);
    if (!llvm::is_contained(names, name)) names.push_back(name);
  }
  return names;
}

bool has_derivative(const Graph& graph) {
  const bool effects = llvm::any_of(graph.nodes(), [](const auto& node) { return node->is(Op::update); });
  const bool floats =
      llvm::any_of(graph.outputs, [](const auto& output) { return is_float(output.value->dtype()); });
  return !effects && floats && !variables_of(graph).empty();
}

Value* sum_of_products(GraphBuilder& b, Value* x, Value* y) {
  const std::vector<int64_t> axes = leading_axes(x->rank());
  Value* product = b.mul(widened(b, x), widened(b, y));
  return axes.empty() ? product : b.sum(product, axes);
}

/// The scalar to differentiate: every output times an input "grad.OUTPUT", summed.
Value* weigh_outputs(Graph& graph) {
  GraphBuilder inputs(graph, graph.nodes().front().get()), b(graph);
  Value* total = nullptr;
  for (const Graph::Output& output : graph.outputs) {
    if (!is_float(output.value->dtype())) continue;
    Value* given = inputs.input("grad." + output.name, output.value->type);
    Value* part = sum_of_products(b, output.value, given);
    total = total ? b.add(total, part) : part;
  }
  return total;
}

void make_backward_of(Graph& graph, const std::string& name) {
  Module& module = graph.module();
  if (module.find_graph(name)) fail("graph @{} exists already", name);
  module.graphs.push_back(graph.clone_into(module, name));
  Graph& backward = *module.graphs.back();
  const std::vector<std::string> variables = variables_of(backward);
  backward.outputs.push_back({kTotal, weigh_outputs(backward)});
  differentiate(backward, {kTotal, variables, 1});
  llvm::erase_if(backward.outputs, [](const Graph::Output& output) { return output.name == kTotal; });
  backward.prune();
}

}  // namespace

bool make_backward(Module& module, const MakeBackwardOptions&) {
  std::vector<Graph*> graphs;
  for (const auto& graph : module.graphs)
    if (has_derivative(*graph)) graphs.push_back(graph.get());
  for (Graph* graph : graphs) make_backward_of(*graph, graph->name + ".backward");
  return !graphs.empty();
}

}  // namespace smelt
