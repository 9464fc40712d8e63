// Layouts of views. View nodes are reshape, transpose, slice, windows, broadcast and stop_gradient. A view
// moves no data if an offset and strides in the memory of its operand can describe its result. Offsets and
// strides are in elements.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the strides of a row-major tensor. `last_pitch` is the distance between the beginnings of adjacent
/// rows (vectors along the last dim); without it, there is no gap between rows.
std::vector<Dim> dense_strides(const Shape& shape);
std::vector<Dim> dense_strides(const Shape& shape, const Dim& last_pitch);
/// Returns whether these are the strides of contiguous elements in row-major order.
bool is_dense(const Shape& shape, const std::vector<Dim>& strides);

/// Returns whether each element of a tensor has the same place by either layout. Strides of dims of one
/// element do not matter.
bool is_same_place(const Layout& a, const Layout& b, const Shape& shape);

/// Returns the number of elements of memory that the tensor spans: from its first element, at the layout's
/// offset, to the end of its last element. Gaps between rows are counted.
Dim reach(const Layout& layout, const Shape& shape);

/// A reshape changes the shape from `from` to `to`. `strides` are the strides of its operand. Returns the
/// strides of its result in the operand's memory, or nothing if the reshape needs a copy.
std::optional<std::vector<Dim>> reshape_strides(const Shape& from, const std::vector<Dim>& strides,
                                                const Shape& to);

/// Returns the layout of a view node's result, given its operand's layout; nothing if the result must be
/// copied.
std::optional<Layout> view_layout(const Node& view, const Layout& operand);
/// Returns the layout that the operand of a view must have if its result has the layout `result`: the inverse
/// of view_layout. Returns nothing for views that drop or repeat elements (slice, windows, broadcast), and
/// for a reshape that needs a copy.
std::optional<Layout> operand_layout(const Node& view, const Layout& result);

}  // namespace smelt
