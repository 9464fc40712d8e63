#include "passes/graph/training/segment_subset.h"

#include "passes/expressions.h"
#include "passes/graph/training/flatten_parameters.h"
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
  place = b.add(place, b.gather(vector_table(b, distances, DType::i32), found));
  places_ = bounded(place, *flat.shape[0].constant());
}

Value* SegmentSubset::bounded(Value* index, int64_t end) const {
  return b_.max(b_.min(index, b_.like(index, static_cast<double>(end - 1))), b_.like(index, 0));
}

Value* SegmentSubset::compact(Value* flat) const { return b_.gather(flat, places_); }

Value* SegmentSubset::batch(Value* flat, size_t first, const Shape& shape) const {
  const int64_t slices = *shape[0].constant(), elements = *element_count(shape).constant() / slices;
  std::vector<double> distances;
  for (size_t i = first; std::ssize(distances) < slices; ++i)
    for (int64_t at = 0; at < segment(i).elements(); at += elements)
      distances.push_back(static_cast<double>(segment(i).offset + at - std::ssize(distances) * elements));
  Value* distance = b_.broadcast(vector_table(b_, distances, DType::i32), {0}, shape);
  return b_.gather(flat, bounded(b_.add(flat_places(b_, shape), distance), *flat_.shape[0].constant()));
}

Value* SegmentSubset::spread(Value* compact) const {
  std::vector<double> distances(flat_.segments.size());
  for (size_t i = 0; i < numbers_.size(); ++i)
    distances[numbers_[i]] = static_cast<double>(begins_[i] - segment(i).offset);
  const SegmentNumbers segments(b_, flat_);
  Value* index = b_.add(segments.place(), segments.find(distances, DType::i32));
  return b_.gather(compact, bounded(index, elements_));
}

}  // namespace smelt
