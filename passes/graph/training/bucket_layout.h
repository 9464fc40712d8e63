// Layout of runs of parameters in the buckets of a flat state. A bucket is gathered, or summed, as a whole.
// If two layers share a bucket, the values gathered for the first are held until the second has used them, so
// that the lifetimes of all layers are connected. With little padding, layers begin at bucket borders: each
// layer then has its own memory, for as long as it is used (passes/program/memory/memory_passes.h).
#pragma once

#include <cstdint>
#include <vector>

namespace smelt {

struct BucketLayout {
  int64_t buckets = 1, rows = 0, row = 0;  // row: elements per row
  std::vector<int64_t> begins;             // of the runs
  int64_t size() const { return rows * row; }
};

struct BucketLimits {
  int64_t most = 0;        // largest number of elements per bucket, before rounding up to rows
  int64_t ranks = 1;       // ranks that share the rows of each bucket equally
  int64_t alignment = 16;  // of the first element of a run, in elements
  int64_t padding = 32;    // at most 1 / padding of all elements is padding, without rounding up
};
/// Returns the layout of runs with these numbers of elements, in this order. The chosen bucket size has the
/// least padding and the shortest stretches of buckets that runs share.
BucketLayout layout_in_buckets(const std::vector<int64_t>& runs, const BucketLimits& limits);

}  // namespace smelt
