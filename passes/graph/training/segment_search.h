// Search of the segment that an index of a flat state belongs to.
//
// Indices are divided into blocks. One table has the begins of all segments, and a second one has, for each
// block, the segment in which the block begins. The search starts at that segment, and adds halving steps as
// far as segments begin inside a block. It is code of a few gathers per element, without branches.
#pragma once

#include <vector>

#include "ir/graph/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Returns the number of the last segment that begins at or before each index of `place`; 0 if there is none.
/// `begins`: the begin of each segment, ascending. `place`: i32 of any shape, with indices below `elements`.
/// `block`: indices per block.
Value* segment_of(GraphBuilder& b, const std::vector<double>& begins, Value* place, int64_t elements,
                  int64_t block = 4096);

/// Returns a constant vector.
Value* vector_table(GraphBuilder& b, const std::vector<double>& values, DType dtype);

/// Numbers per segment of a flat state, looked up by element.
class SegmentNumbers {
 public:
  /// `place`: i32 of any shape, indices of elements of the flat state; null: all elements, in the shape of
  /// the state.
  SegmentNumbers(GraphBuilder& b, const State& flat, Value* place = nullptr);
  Value* place() const { return place_; }
  /// Returns, for each element, the number of its segment in `values`; 0 for the padding after a segment.
  Value* find(const std::vector<double>& values, DType dtype = DType::f32) const;

 private:
  GraphBuilder& b_;
  std::vector<double> begins_;    // of segments and of the padding after them
  std::vector<int64_t> segment_;  // per begin; -1: padding
  Value *place_, *found_;
};

}  // namespace smelt
