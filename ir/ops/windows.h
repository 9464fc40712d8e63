// Sliding windows along an axis, for `windows` nodes and for each dim of a `conv`.
//
//   windows %x {axis = 1, size = 3, step = 2} : f32[B,T,C] -> f32[B,floor_div(T - 3, 2) + 1,3,C]
//
// Window i has `size` elements, with the indices i * step, i * step + dilation, i * step + 2 * dilation, ...
// The result is a view: windows that overlap share memory.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Attributes of windows. `size` counts elements per window; `step` and `dilation` are distances in elements.
struct Windows {
  int64_t axis = 0, size = 1, step = 1, dilation = 1;
};

/// Returns the windows of a `windows` node.
Windows windows_of(const Node& node);
/// Returns the number of whole windows that fit into `elements` elements.
Dim window_count(const Dim& elements, const Windows& windows);

/// Returns whether the spans of consecutive windows, first to last element, intersect.
inline bool overlap(const Windows& w) { return w.size > 1 && w.step <= w.dilation * (w.size - 1); }

/// Attributes of a conv for one of the dims after batch and channels (a spatial dim).
struct ConvDim {
  Windows windows;
  int64_t low = 0, high = 0;  // numbers of zeros before and after the elements (padding)
};
/// Returns the attributes for each spatial dim; the first one has the axis 2, because batch and channels are
/// 0 and 1. `weight` is the shape of the weights, [out channels, in channels per group, window sizes...].
/// Throws Error if the attribute strides, dilations or pads has a wrong length, or if a window size is not a
/// constant of at least 1.
std::vector<ConvDim> conv_dims(const Shape& weight, const Attributes& attributes);
int64_t conv_groups(const Attributes& attributes);

}  // namespace smelt
