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

/// Of runs of these many elements, in this order, each at a multiple of `alignment`. Buckets have at most
/// `most` elements, but for rounding up to rows, of which all of `ranks` ranks have equally many. The size of
/// buckets is the one with the least padding and the shortest stretches of buckets that runs share.
BucketLayout layout_in_buckets(const std::vector<int64_t>& runs, int64_t most, int64_t ranks,
                               int64_t alignment);

}  // namespace smelt
