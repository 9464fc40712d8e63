// Position of the value of an insert, or of an update at an index: one index operand per indexed axis.
//
//   insert %x, %value, %index {axis = 2}       x[..., index + i, ...] = value[..., i, ...]
//
// An index operand has the leading dims of the value, or none. If it has the indexed axis itself, it gives
// the position of each element there, otherwise the begin of the block. Elements with a negative index are
// omitted (padding); an index that is too large is out of bounds. Other elements of x stay. Requires: no two
// elements go to one position; otherwise either may be stored.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct IndexedAxis {
  int64_t axis = 0;
  Value* index = nullptr;
  bool is_place = false;  // the index is the position of each element; false: the begin of the block
};

/// Returns the indexed axes of an insert, or of an update at an index. Throws Error if {axis} or {axes} does
/// not fit the operands.
llvm::SmallVector<IndexedAxis, 3> indexed_axes(const Node& node);
/// Returns the inserted value.
inline Value* inserted_value(const Node& node) { return node.operand(node.is(Op::insert) ? 1 : 0); }
/// Returns the number of positions that an index may name.
Dim places_along(const Shape& target, const Node& node, const IndexedAxis& indexed);

/// Returns the chain of inserts of a body that computes one result, in order.
llvm::SmallVector<const Node*, 2> insert_chain(const Node& last);
/// Returns the value that the first insert of the chain writes into.
inline Value* inserted_into(const Node& last) { return insert_chain(last).front()->operand(0); }
/// Returns whether two inserts use the same indices, up to constants, and certainly write different elements.
bool write_apart(const Node& a, const Node& b);

}  // namespace smelt
