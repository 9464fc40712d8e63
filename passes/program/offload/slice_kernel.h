// Slices of an elementwise kernel. A slice is the same kernel over a box of the kernel's axes, so that a
// large state can be updated part by part. A slice and the whole kernel compute the same elements. If the
// code uses the index along an axis, the slice adds the begin of its box to the index. It reads the begin
// from a table.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Box of a kernel's axes whose elements are contiguous in a dense value over these axes.
struct KernelSlice {
  std::vector<int64_t> begin, extent;  // per axis, in elements
};

/// Returns why the kernel cannot run in slices, as "it sums over elements"; empty if it can.
std::string why_whole(const Kernel& kernel);
/// Returns consecutive boxes of about `elements` elements each, which together cover all axes of the kernel.
std::vector<KernelSlice> slices_of(const Kernel& kernel, int64_t elements);

/// Returns the number of elements that must be added to the offset of the argument for parameter `param` when
/// the slice is launched.
int64_t slice_offset(const Kernel& kernel, int param, const KernelSlice& slice);
/// Returns whether the parameter's elements are dense and in the row-major order of the kernel's axes, from
/// the parameter's first element on.
bool is_dense(const Kernel& kernel, int param);

/// Returns whether the code uses the index along an axis. A slice then has an additional last parameter: i32,
/// one element per axis, the begin of the slice's box.
bool asks_for_index(const Kernel& kernel);
/// Returns the kernel over a box with these extents. All slices with equal extents can share it. Throws Error
/// (internal) if why_whole() returns a reason.
Kernel slice_kernel(const Kernel& kernel, const std::vector<int64_t>& extent);

}  // namespace smelt
