#include "passes/graph/autodiff/differentiate.h"

#include <fmt/ranges.h>

#include <charconv>

#include "passes/expressions.h"
#include "passes/graph/autodiff/make_backward.h"
#include "passes/graph/autodiff/vjp.h"
#include "passes/graph/simplify/decompose.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

Value* output_named(const Graph& graph, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Graph::Output& output : graph.outputs) {
    if (output.name == name) return output.value;
    names.push_back(output.name);
  }
  fail("differentiate: graph @{} has no output \"{}\"; it has {}", graph.name, name, fmt::join(names, ", "));
}

Value* scalar_output(const Graph& graph, std::string_view name) {
  Value* value = output_named(graph, name);
  if (value->rank() != 0 || !is_float(value->dtype()))
    fail("differentiate: output \"{}\" is {}, expected a float scalar", name, str(value->type));
  return value;
}

void activate(const Graph& graph, const std::vector<Variable>& variables, Cotangents& cotangents) {
  for (const Variable& variable : variables)
    for (const Value* value : variable.values) cotangents.activate(value);
  activate_users(graph, cotangents);
}

Value* gradient(GraphBuilder& b, const Variable& variable, Cotangents& cotangents) {
  Value* sum = nullptr;
  for (Value* value : variable.values) {
    b.set_source(value->node()->source);
    Value* part = cotangents.take(b, value);
    if (part) sum = sum ? b.add(sum, part) : part;
  }
  return sum ? sum : zeros(b, variable.type);
}

bool is_variable(const Node& node) { return node.is(Op::parameter) || node.is(Op::input); }

}  // namespace

void activate_users(const Graph& graph, Cotangents& cotangents) {
  for (const auto& node : graph.nodes()) {
    if (!passes_derivatives(*node)) continue;
    if (llvm::none_of(node->operands(), [&](Value* v) { return cotangents.active(v); })) continue;
    for (const auto& result : node->results())
      if (is_float(result->dtype())) cotangents.activate(result.get());
  }
}

void walk_back(GraphBuilder& b, llvm::ArrayRef<Node*> nodes, Cotangents& cotangents) {
  for (Node* node : llvm::reverse(nodes)) {
    if (is_variable(*node) || node->result_count() == 0) continue;
    llvm::SmallVector<Value*, 2> incoming;
    b.set_source(node->source);
    for (const auto& result : node->results()) incoming.push_back(cotangents.take(b, result.get()));
    if (llvm::none_of(incoming, [](Value* g) { return g != nullptr; })) continue;
    derivative_rule(node->op())->reverse({b, *node, incoming, cotangents});
  }
}

std::vector<Op> composites_with_vjp() {
  std::vector<Op> ops;
#define SMELT_OP(name, fewest, most, traits, rule, ...) \
  if (info(Op::name).has(Trait::composite) && derivative_rule(Op::name)) ops.push_back(Op::name);
#include "ir/ops/ops.def"
  return ops;
}

bool differentiate(Graph& graph, const DifferentiateOptions& options) {
  decompose(graph, {composites_with_vjp()});
  Value* output = scalar_output(graph, options.output);
  const std::vector<Variable> variables = find_variables(graph, options.wrt);
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());

  const PhaseMark mark(graph, Phase::backward);
  Cotangents cotangents;
  activate(graph, variables, cotangents);
  GraphBuilder b(graph);
  b.set_source(output->node()->source);
  cotangents.add(output, b.constant(options.seed, output->type));
  walk_back(b, nodes, cotangents);
  for (const Variable& variable : variables) {
    b.set_source(variable.name);
    b.output("grad." + variable.name, gradient(b, variable, cotangents));
  }
  graph.prune();
  return !variables.empty();
}

}  // namespace smelt
