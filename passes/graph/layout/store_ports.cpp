#include "passes/graph/layout/store_ports.h"

#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/precision/assign_precision.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

Type stored(const Type& type, DType storage) {
  return {type.dtype == DType::f32 && type.rank() >= 2 ? storage : type.dtype, type.shape};
}

/// Returns the initial content of an input.
Initializer contents(DType dtype) {
  return is_float(dtype) ? Initializer{Initializer::Kind::normal, 1, 0}
                         : Initializer{Initializer::Kind::value, 1, 0};
}

void declare(Module& module, const std::string& name, const Type& type, const Initializer& init) {
  if (const State* known = module.find_state(name)) {
    if (Type{known->dtype, known->shape} != type)
      fail("store_ports: \"{}\" is {} in one place and {} in another; give one of them another name", name,
           str(Type{known->dtype, known->shape}), str(type));
    return;
  }
  State state;
  state.name = name;
  state.dtype = type.dtype;
  state.shape = type.shape;
  state.init = init;
  module.states.push_back(std::move(state));
}

Value* converted(GraphBuilder& b, Value* value, DType dtype) {
  return value->dtype() == dtype ? value : b.convert(value, dtype);
}

bool is_port(const Node& node) { return node.is(Op::input) || node.is(Op::parameter); }

void store_input(Graph& graph, Node& input, DType storage) {
  const std::string name = input.get(attr::name);
  const Type type = stored(input.result()->type, storage);
  declare(graph.module(), name, type, contents(type.dtype));
  GraphBuilder b(graph, &input);
  graph.replace_all_uses(input.result(), converted(b, b.state(name), input.result()->dtype()));
  graph.erase(&input);
}

void store_output(Graph& graph, const Graph::Output& output, DType storage) {
  const Type type = stored(output.value->type, storage);
  declare(graph.module(), output.name, type, {});
  const Node* last = graph.nodes().back().get();
  GraphBuilder b(graph);
  b.update(output.name, converted(b, output.value, type.dtype));
  for (Node* node = graph.next(last); node; node = graph.next(node))
    inherit_marks(*output.value->node(), *node);
}

bool reads(const Graph& graph, const Module::Parameter& parameter) {
  return llvm::any_of(graph.nodes(), [&](const auto& node) {
    return node->is(Op::parameter) && node->get(attr::name) == parameter.name;
  });
}

/// They must not be allocated in addition to their states.
void drop_unread_parameters(Module& module) {
  llvm::erase_if(module.parameters, [&](const Module::Parameter& parameter) {
    return llvm::none_of(module.graphs, [&](const auto& graph) { return reads(*graph, parameter); });
  });
}

}  // namespace

bool store_ports(Graph& graph, const StorePortsOptions& options) {
  std::vector<Node*> inputs;
  for (const auto& node : graph.nodes())
    if (is_port(*node)) inputs.push_back(node.get());
  const std::vector<Graph::Output> outputs = std::exchange(graph.outputs, {});
  for (const Graph::Output& output : outputs)
    if (!is_port(*output.value->node())) store_output(graph, output, options.storage);
  for (Node* input : inputs) store_input(graph, *input, options.storage);
  drop_unread_parameters(graph.module());
  return !inputs.empty() || !outputs.empty();
}

}  // namespace smelt
