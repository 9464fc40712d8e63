// Template kernels of runtime/plan/steps/sort_index.h, which sort indices; docs/dev/cuda.md has their
// signatures and costs.
#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// A radix sort of indices: it sorts by one digit after the other, the least significant first.
struct RadixSort {
  int digits = 1, bits = 8;  // number of digits, and bits per digit
  int64_t chunk = 0;         // indices per block
  /// Returns the number of i32 elements of workspace for a sort of `count` indices.
  Dim workspace(const Dim& count) const;
};

/// Returns a sort of `count` indices below `rows`. Returns nothing if `count` is always so small that it is
/// faster to compare each index with all others.
std::optional<RadixSort> radix_sort(const Dim& count, const Dim& rows, const Symbols& symbols);

/// Returns the kernels in the order in which a step runs them. If `radix` is empty, there is only the kernel
/// that compares all indices. Else this kernel runs at launches with few indices, and the kernels of the
/// radix sort run at other launches.
std::vector<KernelCode> sort_kernels(const std::optional<RadixSort>& radix);

}  // namespace smelt
