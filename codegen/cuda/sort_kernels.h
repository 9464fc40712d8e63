// The kernels of SortIndexStep; docs/cuda.md has their signatures and what they cost.
#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// A sort by one digit of the indices after the other, the least significant first.
struct RadixSort {
  int digits = 1, bits = 8;  // how many, and of how many bits each
  int64_t chunk = 0;         // indices that a block places
  /// Elements that the sort of `count` indices takes beside its results.
  Dim workspace(const Dim& count) const;
};

/// Nothing where there are never more indices than are compared with one another as fast.
std::optional<RadixSort> radix_sort(const Dim& count, const Dim& rows, const Symbols& symbols);

/// In the order in which a step runs them. Those that compare all indices take few of them, those of the
/// radix sort the rest.
std::vector<KernelCode> sort_kernels(const std::optional<RadixSort>& radix);

}  // namespace smelt
