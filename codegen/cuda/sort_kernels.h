// Template kernels of runtime/plan/steps/sort_index.h; docs/cuda.md has their signatures and what they cost.
#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// A sort by one digit of the indices after the other, the least significant first.
struct RadixSort {
  int digits = 1, bits = 8;  // how many, and of how many bits each
  int64_t chunk = 0;         // indices that a block places
  /// Returns the number of elements that the sort of `count` indices needs in addition to its results.
  Dim workspace(const Dim& count) const;
};

/// Returns nothing where the number of indices is always so small that a comparison of all is as fast.
std::optional<RadixSort> radix_sort(const Dim& count, const Dim& rows, const Symbols& symbols);

/// Returns the kernels in the order in which a step runs them. Those that compare all indices run for few
/// indices, those of the radix sort for more.
std::vector<KernelCode> sort_kernels(const std::optional<RadixSort>& radix);

}  // namespace smelt
