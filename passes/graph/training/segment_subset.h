// Some segments of a flat state as one dense vector, and back.
//
//   flat     a a a . b b b b . c c         the segments a, b, c with padding
//   compact  c c a a a                     the subset {c, a}, in any order, without padding
//
// An optimizer that treats matrices in another way than other parameters computes on such vectors. Segments
// of one shape that are adjacent in the subset are a batch: a slice of the vector, reshaped. Both directions
// are gathers, so kernels that compute on the elements read the flat state directly.
#pragma once

#include <vector>

#include "ir/graph/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

class SegmentSubset {
 public:
  /// `numbers`: the segments of `flat`, which has one dim, in the order of the compact vector. Not empty.
  SegmentSubset(GraphBuilder& b, const State& flat, std::vector<size_t> numbers);

  int64_t elements() const { return elements_; }
  const std::vector<size_t>& numbers() const { return numbers_; }
  const Segment& segment(size_t i) const { return flat_.segments[numbers_[i]]; }
  /// Returns the elements of the subset of a flat value: [elements()].
  Value* compact(Value* flat) const;
  /// Returns segments of a flat value from the first-th one of the subset on, as slices along the first dim
  /// of `shape`. A slice is a segment or an equal part of one.
  Value* batch(Value* flat, size_t first, const Shape& shape) const;
  /// Returns a compact vector's elements in the places of the flat state. All other places have any element
  /// of the vector.
  Value* spread(Value* compact) const;

 private:
  /// Bounds indices, which are in range, so that no guard is needed.
  Value* bounded(Value* index, int64_t end) const;

  GraphBuilder& b_;
  const State flat_;
  const std::vector<size_t> numbers_;
  std::vector<int64_t> begins_;  // per segment of the subset
  int64_t elements_ = 0;
  Value* places_ = nullptr;  // in the flat state, of the elements of the compact vector
};

}  // namespace smelt
