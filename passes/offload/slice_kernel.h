// Slices of a kernel that works element by element: the same kernel over a box of its axes, so that a flat
// state can be updated part by part. Every element is computed as by the whole kernel, from the same numbers
// and at its own place: where the code asks for an index, the slice adds where its box begins, which it reads
// from a table.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace smelt {

/// A box of a kernel's axes, of neighbours in a dense value over them.
struct KernelSlice {
  std::vector<int64_t> begin, extent;  // by axis
};

/// Why the kernel cannot run in slices ("it sums over all elements"); empty where it can.
std::string why_whole(const Kernel& kernel);
/// Boxes of about so many elements, in order, which together are the whole.
std::vector<KernelSlice> slices_of(const Kernel& kernel, int64_t elements);

/// Elements by which the argument of a parameter moves to a slice's begin.
int64_t slice_offset(const Kernel& kernel, int param, const KernelSlice& slice);
/// Whether the kernel touches all elements of the parameter, in order, as they lie from its first.
bool is_dense(const Kernel& kernel, int param);

/// Whether the code asks for an index. Then a slice has one parameter more, the last one: i32, an element an
/// axis.
bool asks_for_index(const Kernel& kernel);
/// Throws where why_whole says something.
Kernel slice_kernel(const Kernel& kernel, const std::vector<int64_t>& extent);

}  // namespace smelt
