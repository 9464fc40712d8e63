#include "passes/graph/simplify/value_numbers.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"

namespace smelt {

void ValueNumbers::number_all() {
  numbered_ = true;
  for (const auto& node : graph_.nodes())
    if (node->result_count() > 0 && !numbers_.contains(node->result(0))) add(*node);
}

unsigned ValueNumbers::of(Value* value) {
  if (!numbered_) number_all();
  if (auto it = numbers_.find(value); it != numbers_.end()) return it->second;
  add(*value->node());
  return numbers_.at(value);
}

unsigned ValueNumbers::intern(const std::string& key) {
  const auto [it, fresh] = keys_.try_emplace(key, static_cast<unsigned>(members_.size()));
  if (fresh) members_.emplace_back();
  return it->second;
}

namespace {

// Keys are bytes, since they are made for every node and never shown.
void append(std::string& key, uint64_t word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

void append(std::string& key, const Type& type) {
  append(key, static_cast<uint64_t>(type.dtype));
  for (const Dim& dim : type.shape) {
    if (auto n = dim.constant())
      append(key, static_cast<uint64_t>(*n));
    else
      key += dim.str() + ',';
  }
}

}  // namespace

std::string ValueNumbers::key_of(Node& node) {
  std::vector<unsigned> operands;
  for (Value* operand : node.operands()) operands.push_back(of(operand));
  if (node.is(Op::pointwise) && info(node.scalar_op).commutative) std::sort(operands.begin(), operands.end());
  std::string key;
  append(key, static_cast<uint64_t>(node.op()) << 16 | static_cast<uint64_t>(node.scalar_op) << 8 |
                  static_cast<uint64_t>(node.reduce_op));
  for (unsigned operand : operands) append(key, operand);
  append(key, node.anchored);
  for (const auto& [name, attribute] : node.attributes) append_key((key += name) += '=', attribute);
  // An effect, or a fusion with its body, equals nothing but itself.
  if (info(node.op()).has(Trait::effect) || node.body) append(key, reinterpret_cast<uintptr_t>(&node));
  return key;
}

void ValueNumbers::add(Node& node) {
  const std::string key = key_of(node);
  for (const auto& result : node.results()) {
    std::string own = key;
    append(own, result->index());
    append(own, result->type);
    const unsigned number = intern(own);
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
