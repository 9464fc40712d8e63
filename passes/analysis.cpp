#include "passes/analysis.h"

#include <algorithm>
#include <cmath>

#include "llvm/ADT/STLExtras.h"

namespace smelt {

bool is_barrier(const Node& node) {
  const OpInfo& facts = info(node.op());
  return !facts.has(Trait::fusable) && !facts.has(Trait::leaf);
}

std::vector<Node*> nodes_of(const Graph& graph, Op op) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (node->is(op)) found.push_back(node.get());
  return found;
}

bool has_ragged_rows(const Value& value) {
  constexpr int64_t kLineBytes = 16;
  if (value.rank() < 2 || (value.dtype() != DType::bf16 && value.dtype() != DType::f16)) return false;
  const auto row = value.shape().back().constant();
  return row && *row * size_of(value.dtype()) % kLineBytes != 0;
}

bool is_view(const Node& node) {
  return node.operands().size() == 1 && info(node.op()).has(Trait::view) && !node.is(Op::concat) &&
         !node.is(Op::pack);
}

bool is_matched(const Value* value, llvm::function_ref<bool(const Node&)> counts) {
  return is_float(value->dtype()) && llvm::any_of(value->users(), [&](const Node* user) {
           if (user->is(ScalarOp::eq) || user->is(ScalarOp::ne)) return counts(*user);
           return is_view(*user) && is_matched(user->result(), counts);
         });
}

Value* skip_identity(Value* value) {
  while (value->node()->is(Op::stop_gradient)) value = value->node()->operand(0);
  return value;
}

// ---- non_negative

namespace {

bool non_negative_within(const Value* value, int depth);

bool all_non_negative(llvm::ArrayRef<Value*> values, int depth) {
  return llvm::all_of(values, [&](const Value* v) { return non_negative_within(v, depth); });
}

bool pointwise_non_negative(const Node& node, int depth) {
  const ScalarOpInfo& row = info(node.scalar_op);
  const auto operands = node.operands().drop_front(row.domain == Domain::choice ? 1 : 0);
  switch (row.non_negative) {
    case NonNegative::unknown:
      return row.flag;
    case NonNegative::always:
      return true;
    case NonNegative::if_all:
      return all_non_negative(operands, depth);
    case NonNegative::if_any:
      return llvm::any_of(operands, [&](const Value* v) { return non_negative_within(v, depth); });
    case NonNegative::if_product:
      return operands[0] == operands[1] || all_non_negative(operands, depth);
  }
  llvm_unreachable("every rule has a case");
}

bool non_negative_within(const Value* value, int depth) {
  if (depth == 0) return false;
  const Node& node = *value->node();
  if (node.is(Op::constant)) return splat(value).value_or(-1) >= 0;
  if (node.is(Op::iota) || node.is(Op::random)) return true;
  if (node.is(Op::pointwise)) return pointwise_non_negative(node, depth - 1);
  if (node.is(Op::reduce) && static_cast<int>(value->index()) == info(node.reduce_op).non_negative)
    return true;
  if (node.is(Op::reduce) || node.is(Op::convert) || is_view(node))
    return non_negative_within(node.operand(0), depth - 1);
  return false;
}

}  // namespace

bool non_negative(const Value* value) { return non_negative_within(value, 12); }

// ---- RowSpace

bool RowSpace::reduces(int64_t axis) const { return llvm::is_contained(axes, axis); }

Shape RowSpace::row_shape() const {
  Shape result;
  for (int64_t axis : row_axes()) result.push_back(shape[axis]);
  return result;
}

std::vector<int64_t> RowSpace::row_axes() const {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (!reduces(i)) result.push_back(i);
  return result;
}

Dim RowSpace::count() const {
  Dim result = 1;
  for (int64_t axis : axes) result *= shape[axis];
  return result;
}

RowSpace row_space(const Node& reduce) {
  RowSpace space{reduce.operand(0)->shape(), reduce.get(attr::axes)};
  std::sort(space.axes.begin(), space.axes.end());
  return space;
}

Node* row_broadcast(const Value* value, const RowSpace& space) {
  Node* node = value->node();
  if (!node->is(Op::broadcast) || value->shape() != space.shape) return nullptr;
  const auto& axes = node->get(attr::axes);
  return llvm::any_of(axes, [&](int64_t axis) { return space.reduces(axis); }) ? nullptr : node;
}

bool reduces_over(const Node& node, const RowSpace& space) {
  return node.is(Op::reduce) && node.operand(0)->shape() == space.shape && row_space(node) == space;
}

std::vector<RowSpace> row_spaces(const Graph& graph) {
  std::vector<RowSpace> spaces;
  for (const auto& node : graph.nodes())
    if (node->is(Op::reduce))
      if (RowSpace space = row_space(*node); !llvm::is_contained(spaces, space))
        spaces.push_back(std::move(space));
  return spaces;
}

// ---- SweepLevels

SweepLevels::SweepLevels(const Graph& graph, RowSpace space) : space_(std::move(space)) {
  keys_.reserve(static_cast<unsigned>(graph.nodes().size()));
  for (const auto& node : graph.nodes()) keys_[node.get()] = transfer(*node);
}

SweepLevels::Key SweepLevels::of(const Value* value) {
  const Node* node = value->node();
  if (auto it = keys_.find(node); it != keys_.end()) return it->second;
  const Key key = transfer(*node);
  return keys_[node] = key;
}

bool SweepLevels::depends(const Value* value, const Key& place) {
  const Key key = of(value);
  return key.phase == place.phase && key.barriers == place.barriers && key.level > 0;
}

SweepLevels::Key SweepLevels::transfer(const Node& node) {
  // The latest operand decides: values before its phase or its last barrier are read from memory.
  Key key{node.phase, 0, 0};
  for (const Value* operand : node.operands()) key = std::max(key, of(operand));
  const bool sweep = reduces_over(node, space_);
  if (is_barrier(node) || (node.is(Op::reduce) && !sweep)) return {key.phase, key.barriers + 1, 0};
  if (sweep && !info(node.reduce_op).samples) ++key.level;
  return key;
}

int reduction_depth(const Graph& graph, Phase phase) {
  int depth = 0;
  for (const RowSpace& space : row_spaces(graph)) {
    SweepLevels levels(graph, space);
    for (const auto& node : graph.nodes())
      if (node->phase == phase && reduces_over(*node, space) && !info(node->reduce_op).samples)
        depth = std::max(depth, levels.of(node->result()).level);
  }
  return depth;
}

}  // namespace smelt
