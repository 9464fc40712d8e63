// Layout of parameters in the buckets of a flat state. A run is a parameter, or several that follow each
// other without a gap. A bucket is gathered, or summed, over ranks as a whole. If two layers share a bucket,
// the memory that is gathered for the first is held until the second has been used too. If every layer shares
// a bucket with the next one, the memory of all layers is held together. If a little padding lets layers
// begin at bucket borders, the memory of each layer is held only while the layer is used (split_buffers in
// passes/program/memory/memory_passes.h).
#pragma once

#include <cstdint>
#include <vector>

namespace smelt {

/// A flat state of the shape [buckets, rows, row].
struct BucketLayout {
  int64_t buckets = 1, rows = 0, row = 0;  // number of buckets, rows per bucket, elements per row
  std::vector<int64_t> begins;             // per run, the index of its first element in the state
  /// Returns the elements per bucket.
  int64_t size() const { return rows * row; }
};

/// Limits of a layout, for layout_in_buckets().
struct BucketLimits {
  int64_t most = 0;        // most elements per bucket, before rounding up to rows
  int64_t ranks = 1;       // ranks that share the rows of each bucket equally
  int64_t alignment = 16;  // elements: a run begins at a multiple of this number
  int64_t padding = 32;    // padding between layers is at most 1 / padding of all elements
};
/// Returns the layout of runs with these numbers of elements, in this order. The bucket size has the least
/// cost of those that are tried: a weighted sum of the padding, the number of buckets, and the squared
/// lengths of stretches. A run may begin at a bucket border. A stretch is the sequence of runs from one such
/// border to the next.
BucketLayout layout_in_buckets(const std::vector<int64_t>& runs, const BucketLimits& limits);

}  // namespace smelt
