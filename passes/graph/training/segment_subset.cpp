#include "passes/graph/training/segment_subset.h"

#include "passes/expressions.h"
#include "passes/graph/training/segment_search.h"

namespace smelt {

SegmentSubset::SegmentSubset(GraphBuilder& b, const State& flat, std::vector<size_t> numbers)
    : b_(b), flat_(flat), numbers_(std::move(numbers)) {
  std::vector<double> begins, distances;
  for (size_t i = 0; i < numbers_.size(); ++i) {
    begins_.push_back(elements_);
    begins.push_back(static_cast<double>(elements_));
    distances.push_back(static_cast<double>(segment(i).offset - elements_));
    elements_ += segment(i).elements();
  }
  Value* place = b.iota({DType::i32, {elements_}}, 0);
  Value* found = segment_of(b, begins, place, elements_);
  const auto last = static_cast<double>(*flat.shape[0].constant() - 1);
  places_ = b.add(place, b.gather(vector_table(b, distances, DType::i32), found));
  places_ = b.max(b.min(places_, b.like(places_, last)), b.like(places_, 0));
}

Value* SegmentSubset::compact(Value* flat) const { return b_.gather(flat, places_); }

Value* SegmentSubset::spread(Value* compact) const {
  std::vector<double> distances(flat_.segments.size());
  for (size_t i = 0; i < numbers_.size(); ++i)
    distances[numbers_[i]] = static_cast<double>(begins_[i] - segment(i).offset);
  const SegmentNumbers segments(b_, flat_);
  Value* index = b_.add(segments.place(), segments.find(distances, DType::i32));
  const auto last = static_cast<double>(elements_ - 1);
  index = b_.max(b_.min(index, b_.like(index, last)), b_.like(index, 0));
  return b_.gather(compact, index);
}

}  // namespace smelt
