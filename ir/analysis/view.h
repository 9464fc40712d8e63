// Layouts of views: offset and strides of reshape, transpose, slice, windows and broadcast in their operand's
// memory.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns row-major strides of a dense tensor; the last dim's pitch may be larger than its extent.
std::vector<Dim> dense_strides(const Shape& shape);
std::vector<Dim> dense_strides(const Shape& shape, const Dim& last_pitch);
/// Returns whether the layout is dense: from its offset on, elements are contiguous in row-major order.
bool is_dense(const Shape& shape, const std::vector<Dim>& strides);

/// Returns the number of elements from the layout's offset to its last element, inclusive.
Dim reach(const Layout& layout, const Shape& shape);

/// Returns strides for which `to` lists the elements of a tensor of shape `from` in the same row-major order;
/// empty if that needs a copy.
std::optional<std::vector<Dim>> reshape_strides(const Shape& from, const std::vector<Dim>& strides,
                                                const Shape& to);

/// Returns the layout of a view node's result, given its operand's; empty if it must be copied.
std::optional<Layout> view_layout(const Node& view, const Layout& operand);
/// Returns the layout that the operand must have for the result to have `result`: the inverse of view_layout;
/// nothing for views that drop or repeat elements (slice, windows, broadcast).
std::optional<Layout> operand_layout(const Node& view, const Layout& result);

}  // namespace smelt
