// Positions at which an insert, or an update with indices, writes its value into a tensor x. There is one
// index operand per indexed axis.
//
//   insert %x, %value, %index {axis = 2}       x[..., index + i, ...] = value[..., i, ...]
//
// The dims of an index operand of rank r >= 0 are the first r dims of the value. If they include the indexed
// axis (axis < r), the operand gives the position of each element along that axis. Otherwise, as in the
// example, it gives the first position of a block of adjacent positions. Elements with a negative index are
// omitted (padding). An index that is too large is an error. All elements of x at other positions keep their
// values. If two elements have the same position, either may be stored.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// One axis of x with its index operand.
struct IndexedAxis {
  int64_t axis = 0;
  Value* index = nullptr;
  bool is_place = false;  // `index` has the position of each element; false: the first one of the block
};

/// Returns the indexed axes of an insert or of an update with indices. Throws Error if the attribute `axis`
/// or `axes` does not fit the operands.
llvm::SmallVector<IndexedAxis, 3> indexed_axes(const Node& node);
/// Returns the value that an insert or update writes.
inline Value* inserted_value(const Node& node) { return node.operand(node.is(Op::insert) ? 1 : 0); }
/// Returns the number of valid values of an index into a tensor of shape `target`; the values are 0 ...
/// number - 1.
Dim places_along(const Shape& target, const Node& node, const IndexedAxis& indexed);

/// Returns the chain of inserts that ends with `last`, in program order: each insert but the first writes
/// into the result of the insert before it.
llvm::SmallVector<const Node*, 2> insert_chain(const Node& last);
/// Returns the tensor into which the first insert of the chain writes.
inline Value* inserted_into(const Node& last) { return insert_chain(last).front()->operand(0); }
/// Returns whether two inserts certainly write different elements. This is so if three conditions hold. Both
/// have the same indexed axes. Along each of these axes, both have the same indices, or both have blocks at
/// constant positions. Along one axis, the constant blocks do not overlap.
bool write_apart(const Node& a, const Node& b);

}  // namespace smelt
