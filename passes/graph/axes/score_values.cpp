#include "passes/graph/axes/score_values.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/uses.h"
#include "passes/graph/axes/axes_passes.h"

namespace smelt {

std::vector<int64_t> dims_before(const Node& broadcast, llvm::ArrayRef<int64_t> dims) {
  std::vector<int64_t> result;
  for (int64_t axis : broadcast.get(attr::axes)) result.push_back(dims[axis]);
  return result;
}

Value* ScoreValues::spread(Value* outside, const Dims& dims) {
  const auto known = made_.find({outside, dims});
  if (known != made_.end()) return known->second;
  Value* value = make(outside, dims);
  return made_[{outside, dims}] = value;
}

Value* ScoreValues::make(Value* outside, const Dims& dims) {
  const Node& node = *outside->node();
  if (const auto number = node.is(Op::constant) ? splat(outside) : std::nullopt) {
    is_low_ |= std::isfinite(*number) && *number < kLowestScore;
    return inside_.constant(*number, {outside->dtype(), scores_});
  }
  if (node.is(Op::iota)) return inside_.iota({outside->dtype(), scores_}, dims[node.get(attr::axis)]);
  if (node.is(Op::broadcast)) return spread(node.operand(0), dims_before(node, dims));
  if (!computes(outside)) return read_(outside, dims);
  llvm::SmallVector<Value*, 3> operands;
  for (Value* operand : node.operands()) operands.push_back(spread(operand, dims));
  return on_operands(inside_, node, operands);
}

bool ScoreValues::computes(Value* outside) {
  const Node& node = *outside->node();
  const bool is_made = works_on_elements(node) || node.is(Op::broadcast) || node.is(Op::iota);
  return is_made && widest(outside) < outside->rank();
}

int64_t ScoreValues::widest(const Value* outside) {
  const auto [known, is_new] = widest_.try_emplace(outside, 0);
  return is_new ? widest_[outside] = find_widest(outside) : known->second;
}

/// The most axes of what the value is computed from and is in memory.
int64_t ScoreValues::find_widest(const Value* outside) {
  const Node& node = *outside->node();
  if (node.is(Op::iota) || (node.is(Op::constant) && splat(outside))) return 0;
  if (!node.is(Op::broadcast) && !works_on_elements(node)) return outside->rank();
  int64_t most = 0;
  for (const Value* operand : node.operands()) most = std::max(most, widest(operand));
  return most;
}

}  // namespace smelt
