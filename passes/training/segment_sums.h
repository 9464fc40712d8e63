// Sums over the segments of a flat state, and values by segment back at every element, in primitives that any
// target has: no atomics, no sort, three launches whatever the number of segments.
//
//   rows     a flat value as [chunks, length]: chunk c holds the elements from begin[c] on, gathered; a chunk
//            lies in one segment, what is beyond its end counts nothing
//   sums     a reduction over each row, then over each segment's chunks: [segments]
//   spread   the segment of every element by a search in the table of offsets, a few steps from a coarse one
#pragma once

#include "ir/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

class SegmentSums {
 public:
  SegmentSums(GraphBuilder& b, const State& flat, int64_t chunk = 4096);

  /// The places in the flat state, i32[chunks, length].
  Value* places() const { return places_; }
  /// A flat value that lies in memory, by chunks.
  Value* rows(Value* flat) const { return b_.gather(flat, places_); }
  /// From a value by chunks to its sum by segment.
  Value* sums(Value* rows) const;
  /// From a value by segment (it must lie in memory) to the flat shape.
  Value* spread(Value* by_segment) const;

 private:
  struct Chunk {
    int64_t begin, length;
  };
  void cut(const State& flat);
  Value* table(const std::vector<double>& values) const;
  /// begin[r] + column, for begin[rows] and `columns`, cut at `last`.
  Value* row_places(const std::vector<double>& begin, int64_t columns, int64_t last) const;
  /// column < length[r].
  Value* inside(const std::vector<double>& length, int64_t columns) const;
  Value* segment_of_elements() const;

  GraphBuilder& b_;
  int64_t chunk_, elements_;
  std::vector<double> offsets_;                       // of segments
  std::vector<double> chunk_begin_, chunk_length_;    // in the flat state
  std::vector<double> first_chunk_, segment_chunks_;  // of segments
  Value* places_ = nullptr;
};

}  // namespace smelt
