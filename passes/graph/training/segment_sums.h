// Sums over the segments of a flat state, and broadcasts of one number per segment to the elements of the
// segment. A flat state holds parameters one after another, and a segment is one parameter
// (flatten_parameters.h). Only primitives that any target has are used: no atomics, no sort, three launches
// for any number of segments.
//
//   rows     gathers a flat value as [chunks, length]: row c begins with the elements of chunk c. A chunk
//            belongs to one segment, whose last chunk may be shorter than a row.
//   sums     sums each row, without the elements after the end of its chunk, and then adds the sums of the
//            chunks of each segment: [segments]
//   spread   finds the segment of every element by a search (segment_search.h).
//
// If a flat state is sharded, its shape is [buckets, bucket rows, elements per bucket row]. Each rank has an
// equal share of the rows of every bucket. In this case, `tiles` first sums tiles (at most 16 adjacent
// elements) on each rank. The result has tile 0 of every bucket, then tile 1 of every bucket, and so on. In
// this order, the tiles of one rank are adjacent. The sums of tiles are then the input of `rows`, and chunks
// count tiles instead of elements. Ranks exchange one number per segment.
#pragma once

#include "ir/graph/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// The operations above for the segments of one flat state.
class SegmentSums {
 public:
  /// Prepares the tables for the segments of `flat`. `chunk`: most elements, or tiles, per chunk.
  SegmentSums(GraphBuilder& b, const State& flat, int64_t chunk = 4096);

  /// Returns the indices that `rows` gathers, i32[chunks, length]: of elements of the flat state, or of tiles
  /// in the order in which tiles() returns them.
  Value* places() const { return places_; }
  /// Returns a flat value as [chunks, length]. The value is [elements], or the result of tiles().
  Value* rows(Value* flat) const { return b_.gather(flat, places_); }
  /// Returns the sums of tiles of a value that has the shape of a sharded flat state: [tiles].
  Value* tiles(Value* flat) const;
  /// Reduces a value [chunks, length], as rows() returns it, to its sums [segments].
  Value* sums(Value* rows) const;
  /// Returns a value of the flat state's shape. Each element is the element of `by_segment` [segments] for
  /// its segment.
  Value* spread(Value* by_segment) const;

 private:
  struct Chunk {
    int64_t begin, length;
  };
  /// Fills the tables of segments and chunks.
  void cut(const State& flat);
  int64_t width() const;  // elements per bucket
  /// Converts tile numbers (first element / `tile_`) to positions in the result of tiles().
  Value* by_columns(Value* tile) const;
  /// Returns an i32 constant [values].
  Value* table(const std::vector<double>& values) const;
  /// Returns i32[rows, columns], where rows is the size of `begin`: begin[r] + column, at most `last`.
  Value* row_places(const std::vector<double>& begin, int64_t columns, int64_t last) const;
  /// Returns a boolean value [rows, columns], where rows is the size of `length`: column < length[r].
  Value* inside(const std::vector<double>& length, int64_t columns) const;
  /// Returns the number of each element's segment, i32 of the flat shape.
  Value* segment_of_elements() const;

  GraphBuilder& b_;
  const Shape shape_;                // of the flat state
  int64_t tile_, chunk_, elements_;  // elements per tile (1: no tiles), tiles per chunk, number of tiles
  std::vector<double> offsets_;      // per segment, in elements
  std::vector<double> chunk_begin_, chunk_length_;    // per chunk, in tiles
  std::vector<double> first_chunk_, segment_chunks_;  // per segment: first chunk, number of chunks
  Value* places_ = nullptr;
};

}  // namespace smelt
