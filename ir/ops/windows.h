// Windows that slide along an axis: of a `windows` node, and of each dim of a `conv`.
//
//   windows %x {axis = 1, size = 3, step = 2} : f32[B,T,C] -> f32[B,floor_div(T - 3, 2) + 1,3,C]
//
// Window i has the elements i step, i step + dilation, ..., size of them. It is a view: windows that overlap
// look at the same memory.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct Windows {
  int64_t axis = 0, size = 1, step = 1, dilation = 1;
};

/// Returns the windows of a `windows` node.
Windows windows_of(const Node& node);
/// Returns the number of whole windows that fit into `elements` elements.
Dim window_count(const Dim& elements, const Windows& windows);

/// Returns whether the spans of consecutive windows, first to last element, intersect.
inline bool overlap(const Windows& w) { return w.size > 1 && w.step <= w.dilation * (w.size - 1); }

/// Attributes of a conv for one dim after batch and channels.
struct ConvDim {
  Windows windows;
  int64_t low = 0, high = 0;  // zeros before and after
};
/// Returns the attributes per such dim; `axis` counts from the batch on. Throws Error if a list has another
/// length or a number that is too small.
std::vector<ConvDim> conv_dims(const Shape& weight, const Attributes& attributes);
int64_t conv_groups(const Attributes& attributes);

}  // namespace smelt
