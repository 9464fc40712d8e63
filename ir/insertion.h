// Where an insert puts its value, and an update at an index: one index operand for each of its axes.
//
//   insert %x, %value, %index {axis = 2}       x[..., index + i, ...] = value[..., i, ...]
//
// An index operand has the leading dims of the value, or none. Where it has the indexed axis itself, it is
// the place of each element there, and otherwise where the block begins. What has a negative index is left
// out (padding); a larger index than fits is out of bounds. All else of x stays. Whether two elements go to
// one place is the caller's to avoid: either may be there afterwards.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct IndexedAxis {
  int64_t axis = 0;
  Value* index = nullptr;
  bool is_place = false;  // the index says where each element goes; else where the block begins
};

/// Of an insert, or of an update at an index. Throws Error where {axis} or {axes} does not fit the operands.
llvm::SmallVector<IndexedAxis, 3> indexed_axes(const Node& node);
/// What is put there.
inline Value* inserted_value(const Node& node) { return node.operand(node.is(Op::insert) ? 1 : 0); }
/// The number of places that an index may name.
Dim places_along(const Shape& target, const Node& node, const IndexedAxis& indexed);

/// The inserts of a body that leave one result, the first one first.
llvm::SmallVector<const Node*, 2> insert_chain(const Node& last);
/// What the first of them puts its value into.
inline Value* inserted_into(const Node& last) { return insert_chain(last).front()->operand(0); }
/// Whether two inserts use the same indices, but for constants, and certainly write different elements.
bool write_apart(const Node& a, const Node& b);

}  // namespace smelt
