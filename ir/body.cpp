#include "ir/body.h"

#include <fmt/format.h>

#include <algorithm>

namespace smelt {

llvm::ArrayRef<std::string_view> handed_to_body(Op op) {
  static constexpr std::string_view kOfMatmul[] = {"acc"};
  if (op == Op::matmul) return kOfMatmul;
  return {};
}

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

Value* handed_value(const Node& node) { return node.body->inputs().front()->result(); }

std::unique_ptr<Graph> empty_body(Module& module, Op op, llvm::ArrayRef<Type> inputs) {
  auto body = std::make_unique<Graph>(module);
  const auto handed = handed_to_body(op);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Node* input = body->create(Op::input, {}, inputs[i]);
    input->attributes["name"] =
        i < handed.size() ? std::string(handed[i]) : fmt::format("a{}", i - handed.size());
  }
  return body;
}

}  // namespace smelt
