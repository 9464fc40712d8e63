#include "ir/graph/body.h"

#include <fmt/format.h>

#include <algorithm>

namespace smelt {

llvm::ArrayRef<std::string_view> handed_to_body(Op op) {
  static constexpr std::string_view kOfMatmul[] = {"acc"}, kOfAttention[] = {"score", "product"};
  if (op == Op::matmul) return kOfMatmul;
  if (op == Op::attention) return llvm::ArrayRef(kOfAttention).take_front(1);
  if (op == Op::attention_grad) return kOfAttention;
  return {};
}

bool returns_its_body(Op op) { return op != Op::attention && op != Op::attention_grad; }

std::vector<BodyArgument> body_arguments(const Node& node) {
  std::vector<BodyArgument> arguments;
  if (!node.body) return arguments;
  const std::vector<Node*> inputs = node.body->inputs();
  const size_t handed = std::min(handed_to_body(node.op()).size(), inputs.size());
  // A node that is not well formed can be printed, too.
  const auto operands = node.operands().take_back(std::min(inputs.size() - handed, node.operands().size()));
  for (size_t i = 0; i < operands.size(); ++i)
    arguments.push_back({operands[i], inputs[handed + i]->result()});
  return arguments;
}

llvm::ArrayRef<Value*> own_operands(const Node& node) {
  return node.operands().drop_back(body_arguments(node).size());
}

llvm::SmallVector<Value*, 2> handed_values(const Node& node) {
  llvm::SmallVector<Value*, 2> values;
  if (!node.body) return values;
  const std::vector<Node*> inputs = node.body->inputs();
  for (size_t i = 0; i < handed_to_body(node.op()).size(); ++i) values.push_back(inputs.at(i)->result());
  return values;
}

Node* first_computation(const Graph& body) {
  for (const auto& node : body.nodes())
    if (!node->is(Op::input)) return node.get();
  return nullptr;
}

std::unique_ptr<Graph> empty_body(Module& module, Op op, llvm::ArrayRef<Type> inputs) {
  auto body = std::make_unique<Graph>(module);
  const auto handed = handed_to_body(op);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Node* input = body->create(Op::input, {}, inputs[i]);
    input->set(attr::name,
               i < handed.size() ? std::string(handed[i]) : fmt::format("a{}", i - handed.size()));
  }
  return body;
}

}  // namespace smelt
