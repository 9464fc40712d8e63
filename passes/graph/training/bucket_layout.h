// Layout of parameters in the buckets of a flat state. A run is one parameter, or several parameters without
// gaps between them. A bucket is gathered, or summed, over ranks as a whole. If two layers share a bucket,
// the gathered memory of the first layer cannot be freed before the second layer has been used. So padding is
// added where it lets layers begin at bucket borders: the memory of each layer can then be freed after the
// layer has been used.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt {

/// A flat state of the shape [buckets, rows, row].
struct BucketLayout {
  int64_t buckets = 1, rows = 0, row = 0;  // number of buckets, rows per bucket, elements per row
  std::vector<int64_t> begins;             // for each run, the index of its first element in the state
  /// Returns the elements per bucket.
  int64_t size() const { return rows * row; }
};

/// Limits of a layout, for layout_in_buckets().
struct BucketLimits {
  int64_t most = 0;        // most elements per bucket; may be exceeded, because buckets have whole rows
  int64_t ranks = 1;       // ranks that share the rows of each bucket equally
  int64_t alignment = 16;  // elements: a run begins at a multiple of this number
  int64_t padding = 32;    // padding between layers is at most 1 / padding of all elements
};
/// Returns the layout of runs with these numbers of elements, in this order. Several bucket sizes are tried,
/// and the one with the lowest cost is taken. The cost is a weighted sum of the padding, the number of
/// buckets, and the squared lengths of stretches. The stretches are the parts of the state between successive
/// runs that begin at bucket borders.
BucketLayout layout_in_buckets(const std::vector<int64_t>& runs, const BucketLimits& limits);

}  // namespace smelt
