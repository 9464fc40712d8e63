#include "passes/graph/fusion/bodies.h"

#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

Value* alone(GraphBuilder& b, const Node& matmul) {
  Attributes attributes = matmul.attributes;
  if (matmul.operand(0)->dtype() != DType::f32) attributes.set(attr::result, std::string(name(DType::f32)));
  return b.create(Op::matmul, own_operands(matmul), std::move(attributes))->result();
}

/// Replaces a value. A computed value takes the name of the replaced result; an argument that the body
/// returns keeps its own.
void replace(Graph& graph, Value* from, Value* to) {
  if (!from->name.empty() && !llvm::is_contained(from->node()->operands(), to))
    to->name = std::exchange(from->name, "");
  graph.replace_all_uses(from, to);
}

}  // namespace

void inline_body(const Graph& body, Graph& graph, Node* place, std::string_view source, BodyValues& values) {
  for (const auto& node : body.nodes()) {
    if (node->is(Op::input)) continue;
    llvm::SmallVector<Value*, 3> operands;
    for (const Value* operand : node->operands()) operands.push_back(values.at(operand));
    Node* twin = graph.clone(*node, operands, place);
    if (twin->source.empty()) twin->source = source;
    for (unsigned i = 0; i < node->result_count(); ++i) values[node->result(i)] = twin->result(i);
  }
}

Node* matmul_with_body(GraphBuilder& b, const Node& matmul, llvm::ArrayRef<Value*> arguments,
                       WriteBody write) {
  Attributes attributes = matmul.attributes;
  attributes.remove(attr::result);  // the body says it
  auto body = write(infer_body_inputs(Op::matmul, matmul.operands(), arguments, attributes));
  llvm::SmallVector<Value*, 4> operands(matmul.operands());
  llvm::append_range(operands, arguments);
  Node* made = b.create(Op::matmul, operands, std::move(attributes), std::move(body));
  made->source = matmul.source;
  inherit_marks(matmul, *made);
  return made;
}

void split_body(Graph& graph, Node* node) {
  BodyValues values;
  for (const auto& [operand, input] : body_arguments(*node)) values[input] = operand;
  {
    const InheritMarks marks(graph, node, *node);
    GraphBuilder b(graph, node);
    b.set_source(node->source);
    for (const Value* handed : handed_values(*node)) values[handed] = alone(b, *node);
    inline_body(*node->body, graph, node, node->source, values);
  }
  for (unsigned i = 0; i < node->result_count(); ++i)
    replace(graph, node->result(i), values.at(node->body->outputs[i].value));
  graph.erase(node);
}

}  // namespace smelt
