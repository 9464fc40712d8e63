// Sums over the segments of a flat state, and values by segment back at every element, in primitives that any
// target has: no atomics, no sort, three launches whatever the number of segments.
//
//   rows     a flat value as [chunks, length]: chunk c holds the elements from begin[c] on, gathered; a chunk
//            lies in one segment, what is beyond its end counts nothing
//   sums     a reduction over each row, then over each segment's chunks: [segments]
//   spread   the segment of every element by a search in the table of offsets, a few steps from a coarse one
//
// Of flat values [buckets, rows, row], which ranks have rows of, `tiles` of neighbouring elements are summed
// first, where they lie. Their sums stand column after column, so that a rank's are neighbours, and are what
// `rows` takes then: all that ranks add up is a number a segment.
#pragma once

#include "ir/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

class SegmentSums {
 public:
  /// `chunk`: the most elements (or tiles) of one.
  SegmentSums(GraphBuilder& b, const State& flat, int64_t chunk = 4096);

  /// The places in the flat state (of tiles where there are such), i32[chunks, length].
  Value* places() const { return places_; }
  /// A flat value that lies in memory, by chunks.
  Value* rows(Value* flat) const { return b_.gather(flat, places_); }
  /// The sums of tiles of a value [buckets, rows, row].
  Value* tiles(Value* flat) const;
  /// From a value by chunks to its sum by segment.
  Value* sums(Value* rows) const;
  /// From a value by segment (it must lie in memory) to the flat shape.
  Value* spread(Value* by_segment) const;

 private:
  struct Chunk {
    int64_t begin, length;
  };
  void cut(const State& flat);
  int64_t width() const;  // elements of a bucket
  /// Tiles from `first` on, as places among those that stand column after column.
  Value* by_columns(Value* tile) const;
  Value* table(const std::vector<double>& values) const;
  /// begin[r] + column, for begin[rows] and `columns`, cut at `last`.
  Value* row_places(const std::vector<double>& begin, int64_t columns, int64_t last) const;
  /// column < length[r].
  Value* inside(const std::vector<double>& length, int64_t columns) const;
  Value* segment_of_elements() const;

  GraphBuilder& b_;
  const Shape shape_;                                 // of the flat state
  int64_t tile_, chunk_, elements_;                   // elements a tile; tiles a chunk and in all
  std::vector<double> offsets_;                       // of segments, in elements
  std::vector<double> chunk_begin_, chunk_length_;    // in tiles
  std::vector<double> first_chunk_, segment_chunks_;  // of segments
  Value* places_ = nullptr;
};

}  // namespace smelt
