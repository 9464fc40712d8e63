// Layouts of views: how reshape, transpose, slice, windows and broadcast of a value look
// at that value's memory.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace smelt {

/// Row-major strides of a dense tensor; the last dim's pitch may be larger than its extent.
std::vector<Dim> dense_strides(const Shape& shape);
std::vector<Dim> dense_strides(const Shape& shape, const Dim& last_pitch);
/// Whether the layout is dense: from its offset on, elements follow one another in row-major order.
bool is_dense(const Shape& shape, const std::vector<Dim>& strides);

/// The number of elements from the layout's offset to the last one that it places, which is included.
Dim reach(const Layout& layout, const Shape& shape);

/// The strides under which `to` lists the elements of a tensor of shape `from` in the same row-major order;
/// empty where that would need a copy.
std::optional<std::vector<Dim>> reshape_strides(const Shape& from, const std::vector<Dim>& strides,
                                                const Shape& to);

/// The layout of a view node's result, given its operand's; empty where it has to be copied.
std::optional<Layout> view_layout(const Node& view, const Layout& operand);
/// The layout the operand must have for the result to have `result`: the inverse of view_layout; nothing for
/// views that drop or repeat elements (slice, windows, broadcast).
std::optional<Layout> operand_layout(const Node& view, const Layout& result);

}  // namespace smelt
