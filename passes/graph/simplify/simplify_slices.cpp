// Rules for slice and concat.
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

struct Slice {
  Value* of;
  int64_t axis;
  Dim begin, length;
};
Slice parts_of(const Node& node) {
  const int64_t axis = node.get(attr::axis);
  return {node.operand(0), axis, node.get(attr::begin), node.result()->shape()[axis]};
}

// ---- slice

Value* whole_slice(GraphBuilder&, const Node& node) {
  return node.result()->shape() == node.operand(0)->shape() ? node.operand(0) : nullptr;
}

Value* slice_of_slice(GraphBuilder& b, const Node& node) {
  const Slice outer = parts_of(node);
  if (!outer.of->node()->is(Op::slice)) return nullptr;
  const Slice inner = parts_of(*outer.of->node());
  if (inner.axis != outer.axis) return nullptr;
  return b.slice(inner.of, inner.axis, inner.begin + outer.begin, outer.length);
}

/// Operands [first, last) of the concat that cover the slice exactly, or the one operand that holds it.
Value* slice_of_concat(GraphBuilder& b, const Node& node) {
  const Slice slice = parts_of(node);
  const Node* concat = slice.of->node();
  if (!concat->is(Op::concat) || concat->get(attr::axis) != slice.axis) return nullptr;
  llvm::SmallVector<Value*, 4> covering;
  Dim begin = 0;
  for (Value* operand : concat->operands()) {
    const Dim length = operand->shape()[slice.axis];
    const Dim inside = slice.begin - begin, left = begin + length - (slice.begin + slice.length);
    const bool holds =
        inside.constant() && left.constant() && *inside.constant() >= 0 && *left.constant() >= 0;
    if (holds) return b.slice(operand, slice.axis, inside, slice.length);
    if (begin == slice.begin || !covering.empty()) covering.push_back(operand);
    begin += length;
    if (!covering.empty() && begin == slice.begin + slice.length) return b.concat(covering, slice.axis);
  }
  return nullptr;
}

Value* slice_of_number(GraphBuilder& b, const Node& node) {
  const auto number = number_of(node.operand(0));
  return number ? b.constant(*number, node.result()->type) : nullptr;
}

// ---- concat

Value* single_concat(GraphBuilder&, const Node& node) {
  return node.operands().size() == 1 ? node.operand(0) : nullptr;
}

Value* concat_of_concats(GraphBuilder& b, const Node& node) {
  const int64_t axis = node.get(attr::axis);
  auto nested = [&](Value* operand) {
    return operand->node()->is(Op::concat) && operand->node()->get(attr::axis) == axis &&
           has_one_use(*operand);
  };
  if (llvm::none_of(node.operands(), nested)) return nullptr;
  llvm::SmallVector<Value*, 8> pieces;
  for (Value* operand : node.operands()) {
    if (nested(operand))
      llvm::append_range(pieces, operand->node()->operands());
    else
      pieces.push_back(operand);
  }
  return b.concat(pieces, axis);
}

/// Nothing where the slices do not follow each other along the axis of one value.
Value* joined_slices(GraphBuilder& b, Value* left, Value* right, int64_t axis) {
  if (!left->node()->is(Op::slice) || !right->node()->is(Op::slice)) return nullptr;
  const Slice first = parts_of(*left->node()), second = parts_of(*right->node());
  if (first.of != second.of || first.axis != axis || second.axis != axis) return nullptr;
  if (first.begin + first.length != second.begin) return nullptr;
  return b.slice(first.of, axis, first.begin, first.length + second.length);
}

/// Joins matrices that are adjacent in a flat value: their rows are those of one matrix.
Value* joined_rows(GraphBuilder& b, Value* left, Value* right) {
  if (!left->node()->is(Op::reshape) || !right->node()->is(Op::reshape)) return nullptr;
  Value *first = left->node()->operand(0), *second = right->node()->operand(0);
  if (first->type.rank() != 1 || second->type.rank() != 1 || left->type.rank() < 2) return nullptr;
  Shape shape = left->shape();
  shape[0] += right->shape()[0];
  Value* all = joined_slices(b, first, second, 0);
  return all ? b.reshape(all, shape) : nullptr;
}

bool are_converted_alike(const Node& left, const Node& right) {
  return left.is(Op::convert) && right.is(Op::convert) && left.result()->dtype() == right.result()->dtype() &&
         left.operand(0)->dtype() == right.operand(0)->dtype();
}

/// One piece for two neighbours, perhaps converted: slices that follow each other in one value, or the same
/// number.
Value* joined(GraphBuilder& b, Value* left, Value* right, int64_t axis) {
  const auto l = number_of(left), r = number_of(right);
  if (l && r && *l == *r) {
    Type type = left->type;
    type.shape[axis] += right->shape()[axis];
    return b.constant(*l, type);
  }
  if (are_converted_alike(*left->node(), *right->node())) {
    Value* both = joined(b, left->node()->operand(0), right->node()->operand(0), axis);
    return both ? b.convert(both, left->dtype()) : nullptr;
  }
  if (Value* rows = axis == 0 ? joined_rows(b, left, right) : nullptr) return rows;
  return joined_slices(b, left, right, axis);
}

Value* concat_of_neighbours(GraphBuilder& b, const Node& node) {
  const int64_t axis = node.get(attr::axis);
  llvm::SmallVector<Value*, 8> pieces;
  for (Value* operand : node.operands()) {
    Value* join = pieces.empty() ? nullptr : joined(b, pieces.back(), operand, axis);
    if (join)
      pieces.back() = join;
    else
      pieces.push_back(operand);
  }
  return pieces.size() == node.operands().size() ? nullptr : b.concat(pieces, axis);
}

constexpr SimplifyRule kSliceRules[] = {whole_slice, slice_of_slice, slice_of_concat, slice_of_number};
constexpr SimplifyRule kConcatRules[] = {single_concat, concat_of_concats, concat_of_neighbours};

}  // namespace

llvm::ArrayRef<SimplifyRule> slice_rules() { return kSliceRules; }
llvm::ArrayRef<SimplifyRule> concat_rules() { return kConcatRules; }

}  // namespace smelt
