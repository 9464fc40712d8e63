// Slices of an elementwise kernel: the same kernel over a box of its axes, so that a flat state can be
// updated part by part. Every element is computed from the same numbers and at the same position as by the
// whole kernel: an index in the code is offset by the begin of the box, which the slice reads from a table.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Box of a kernel's axes whose elements are neighbours in a dense value over these axes.
struct KernelSlice {
  std::vector<int64_t> begin, extent;  // by axis
};

/// Returns why the kernel cannot run in slices ("it sums over all elements"); empty if it can.
std::string why_whole(const Kernel& kernel);
/// Returns consecutive boxes of about `elements` elements, which together are the whole.
std::vector<KernelSlice> slices_of(const Kernel& kernel, int64_t elements);

/// Returns the number of elements by which the argument of a parameter is offset for the slice.
int64_t slice_offset(const Kernel& kernel, int param, const KernelSlice& slice);
/// Returns whether the kernel touches all elements of the parameter, in memory order from its first.
bool is_dense(const Kernel& kernel, int param);

/// Returns whether the code uses an index. A slice then has one more parameter, the last one: i32, one
/// element per axis.
bool asks_for_index(const Kernel& kernel);
/// Makes a slice. Throws if why_whole() returns a reason.
Kernel slice_kernel(const Kernel& kernel, const std::vector<int64_t>& extent);

}  // namespace smelt
