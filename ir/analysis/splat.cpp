#include "ir/analysis/uses.h"

#include <cmath>

namespace smelt {

std::optional<double> splat(const Value* value) {
  const Node* node = value->node();
  while (node->is(Op::broadcast) || node->is(Op::reshape)) node = node->operand(0)->node();
  if (!node->is(Op::constant) || !node->has(attr::value)) return std::nullopt;
  return node->get(attr::value);
}

std::optional<int64_t> whole_splat(const Value* value) {
  const auto number = splat(value);
  if (!number || *number != std::trunc(*number) || std::abs(*number) > INT32_MAX) return std::nullopt;
  return static_cast<int64_t>(*number);
}

}  // namespace smelt
