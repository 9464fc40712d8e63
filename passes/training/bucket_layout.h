// Where runs of parameters lie in the buckets of a flat state. A bucket is gathered, or summed, as a whole.
// So where two layers share one, what is gathered for the first is held until the second, and the memory of
// all layers hangs together. A little padding lets layers begin where buckets do: then each layer has memory
// of its own, for as long as it is used (passes/memory/split_buffers.h).
#pragma once

#include <cstdint>
#include <vector>

namespace smelt {

struct BucketLayout {
  int64_t buckets = 1, rows = 0, row = 0;  // elements in a row
  std::vector<int64_t> begins;             // of the runs
  int64_t size() const { return rows * row; }
};

struct BucketLimits {
  int64_t most = 0;        // elements of a bucket, but for rounding up to rows
  int64_t ranks = 1;       // that have equally many rows of each bucket
  int64_t alignment = 16;  // of where runs begin, in elements
  int64_t padding = 32;    // of all elements one in so many at most, but for what rounding up takes
};
/// Of runs of these many elements, in this order. The size of buckets is the one with the least padding and
/// the shortest stretches of buckets that runs share.
BucketLayout layout_in_buckets(const std::vector<int64_t>& runs, const BucketLimits& limits);

}  // namespace smelt
