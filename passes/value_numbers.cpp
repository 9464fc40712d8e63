#include "passes/value_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "llvm/ADT/STLExtras.h"

namespace smelt {

bool is_commutative(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::mul:
    case ScalarOp::max:
    case ScalarOp::min:
    case ScalarOp::eq:
    case ScalarOp::ne:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
      return true;
    default:
      return false;
  }
}

ValueNumbers::ValueNumbers(const Graph& graph) {
  for (const auto& node : graph.nodes()) add(*node);
}

unsigned ValueNumbers::of(Value* value) {
  if (auto it = numbers_.find(value); it != numbers_.end()) return it->second;
  add(*value->node());
  return numbers_.at(value);
}

unsigned ValueNumbers::intern(const std::string& key) {
  const auto [it, fresh] = keys_.try_emplace(key, static_cast<unsigned>(members_.size()));
  if (fresh) members_.emplace_back();
  return it->second;
}

void ValueNumbers::add(Node& node) {
  std::vector<unsigned> operands;
  for (Value* operand : node.operands()) operands.push_back(of(operand));
  if (node.is(Op::pointwise) && is_commutative(node.scalar_op)) std::sort(operands.begin(), operands.end());
  std::string key = fmt::format("{}.{}.{}", static_cast<int>(node.op()), static_cast<int>(node.scalar_op),
                                static_cast<int>(node.reduce_op));
  for (unsigned operand : operands) fmt::format_to(std::back_inserter(key), " {}", operand);
  for (const auto& [name, attribute] : node.attributes)
    if (name != "phase") fmt::format_to(std::back_inserter(key), " {}={}", name, str(attribute));
  // An effect, or a fusion with its body, equals nothing but itself.
  if (info(node.op()).has(Trait::effect) || node.body)
    fmt::format_to(std::back_inserter(key), " @{}", static_cast<const void*>(&node));
  for (const auto& result : node.results()) {
    const unsigned number = intern(fmt::format("{} #{} {}", key, result->index(), str(result->type)));
    numbers_[result.get()] = number;
    members_[number].push_back(result.get());
  }
}

void ValueNumbers::forget(const Node& node) {
  for (const auto& result : node.results()) {
    auto it = numbers_.find(result.get());
    if (it == numbers_.end()) continue;
    llvm::erase(members_[it->second], result.get());
    numbers_.erase(it);
  }
}

}  // namespace smelt
