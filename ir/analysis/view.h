// Layouts of views. A view node (reshape, transpose, slice, windows, broadcast, stop_gradient) moves no data
// if its result has an offset and strides in its operand's memory. Offsets and strides are in elements.
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

/// Returns the number of elements of memory from the layout's offset to the end of the tensor's last element.
Dim reach(const Layout& layout, const Shape& shape);

/// Returns the strides of a reshape's result, of shape `to`, in the memory of its operand, of shape `from`
/// with `strides`. Returns nothing if the reshape needs a copy.
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
