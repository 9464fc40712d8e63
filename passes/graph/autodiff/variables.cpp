#include "passes/graph/autodiff/make_backward.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "passes/graph/autodiff/vjp.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// All nodes that read a parameter or an input, by its name.
using Readers = llvm::StringMap<std::vector<Value*>>;

Readers readers_of(const Graph& graph) {
  Readers readers;
  for (const auto& node : graph.nodes())
    if (node->is(Op::parameter) || node->is(Op::input))
      readers[node->get(attr::name)].push_back(node->result());
  return readers;
}

Variable find_variable(const Graph& graph, const Readers& readers, const std::string& name) {
  Variable variable{name, {}, readers.lookup(name)};
  if (!variable.values.empty())
    variable.type = variable.values[0]->type;
  else if (const Module::Parameter* parameter = graph.module().find_parameter(name))
    variable.type = parameter->type;
  else
    fail("differentiate: \"{}\" is no parameter of the module and no input of @{}", name, graph.name);
  if (!is_float(variable.type.dtype))
    fail("differentiate: \"{}\" is {}, expected floats", name, str(variable.type));
  return variable;
}

}  // namespace

std::vector<Variable> find_variables(const Graph& graph, const std::vector<std::string>& names) {
  const Readers readers = readers_of(graph);
  std::vector<Variable> variables;
  for (const std::string& name : names) variables.push_back(find_variable(graph, readers, name));
  if (!names.empty()) return variables;
  for (const Module::Parameter& parameter : graph.module().parameters)
    if (!parameter.frozen && is_float(parameter.type.dtype))
      variables.push_back(find_variable(graph, readers, parameter.name));
  return variables;
}

bool passes_derivatives(const Node& node) {
  if (node.is(Op::stop_gradient) || !derivative_rule(node.op())) return false;
  return !node.is(Op::pointwise) || info(node.scalar_op).differentiable;
}

}  // namespace smelt
