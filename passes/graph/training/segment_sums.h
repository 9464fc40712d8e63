// Sums over the segments of a flat state, and the spread of a value per segment to every element, in
// primitives that any target has: no atomics, no sort, three launches for any number of segments.
//
//   rows     a flat value as [chunks, length]: chunk c holds the elements from begin[c] on, gathered; a chunk
//            is inside one segment, and elements after the segment's end count as nothing
//   sums     a reduction over each row, then over each segment's chunks: [segments]
//   spread   the segment of every element by a search in the table of offsets, a few steps from a coarse one
//
// For flat values [buckets, rows, row] whose rows are sharded over ranks, tiles of `tile_` neighbouring
// elements are summed first, in place. Their sums are stored column after column, so that those of one rank
// are neighbours, and are the input of `rows`: ranks then exchange one number per segment.
#pragma once

#include "ir/graph/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

class SegmentSums {
 public:
  /// Prepares the tables. `chunk`: most elements (or tiles) per chunk.
  SegmentSums(GraphBuilder& b, const State& flat, int64_t chunk = 4096);

  /// Returns the positions in the flat state (of tiles, if there are tiles), i32[chunks, length].
  Value* places() const { return places_; }
  /// Returns a flat value in memory as chunks.
  Value* rows(Value* flat) const { return b_.gather(flat, places_); }
  /// Returns the sums of tiles of a value [buckets, rows, row].
  Value* tiles(Value* flat) const;
  /// Reduces a value by chunks to its sums by segment.
  Value* sums(Value* rows) const;
  /// Spreads a value by segment, which must be in memory, to the flat shape.
  Value* spread(Value* by_segment) const;

 private:
  struct Chunk {
    int64_t begin, length;
  };
  void cut(const State& flat);
  int64_t width() const;  // elements of a bucket
  /// Returns tiles as positions in the order column after column.
  Value* by_columns(Value* tile) const;
  Value* table(const std::vector<double>& values) const;
  /// Returns begin[r] + column, for begin[rows] and `columns`, limited to `last`.
  Value* row_places(const std::vector<double>& begin, int64_t columns, int64_t last) const;
  /// Returns column < length[r].
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
