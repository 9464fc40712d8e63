// Windows that slide along an axis: of a `windows` node, and of each dim of a `conv`.
//
//   windows %x {axis = 1, size = 3, step = 2} : f32[B,T,C] -> f32[B,floor_div(T - 3, 2) + 1,3,C]
//
// Window i has the elements i step, i step + dilation, ..., size of them. It is a view: windows that overlap
// look at the same memory.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct Windows {
  int64_t axis = 0, size = 1, step = 1, dilation = 1;
};

/// Of a `windows` node.
Windows windows_of(const Node& node);
/// How many whole windows fit into so many elements.
Dim window_count(const Dim& elements, const Windows& windows);

/// Whether two windows that follow each other have elements between the same ends.
inline bool overlap(const Windows& w) { return w.size > 1 && w.step <= w.dilation * (w.size - 1); }

/// What a conv's lists of attributes say of one dim behind batch and channels.
struct ConvDim {
  Windows windows;
  int64_t low = 0, high = 0;  // zeros in front and behind
};
/// For each such dim; `axis` counts from the batch on. Throws Error where a list has another length or a
/// number that is too small.
std::vector<ConvDim> conv_dims(const Shape& weight, const Attributes& attributes);
int64_t conv_groups(const Attributes& attributes);

}  // namespace smelt
