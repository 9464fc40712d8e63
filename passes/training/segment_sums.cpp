#include "passes/training/segment_sums.h"

#include <algorithm>
#include <bit>

#include "passes/expressions.h"

namespace smelt {

SegmentSums::SegmentSums(GraphBuilder& b, const State& flat, int64_t chunk)
    : b_(b), chunk_(chunk), elements_(*flat.shape[0].constant()) {
  cut(flat);
  places_ = row_places(chunk_begin_, chunk_, elements_ - 1);
}

void SegmentSums::cut(const State& flat) {
  int64_t longest = 1;
  for (const Segment& segment : flat.segments) longest = std::max(longest, segment.elements());
  chunk_ = std::min(chunk_, longest);
  for (const Segment& segment : flat.segments) {
    offsets_.push_back(static_cast<double>(segment.offset));
    first_chunk_.push_back(static_cast<double>(chunk_begin_.size()));
    for (int64_t at = 0; at < segment.elements(); at += chunk_) {
      chunk_begin_.push_back(static_cast<double>(segment.offset + at));
      chunk_length_.push_back(static_cast<double>(std::min(chunk_, segment.elements() - at)));
    }
    segment_chunks_.push_back(static_cast<double>(chunk_begin_.size()) - first_chunk_.back());
  }
}

Value* SegmentSums::table(const std::vector<double>& values) const {
  return b_.table(values, {DType::i32, {static_cast<int64_t>(values.size())}});
}

Value* SegmentSums::row_places(const std::vector<double>& begin, int64_t columns, int64_t last) const {
  const Type type{DType::i32, {static_cast<int64_t>(begin.size()), columns}};
  Value* from = b_.broadcast(table(begin), {0}, type.shape);
  return b_.min(b_.add(from, b_.iota(type, 1)), b_.constant(static_cast<double>(last), type));
}

Value* SegmentSums::inside(const std::vector<double>& length, int64_t columns) const {
  const Type type{DType::i32, {static_cast<int64_t>(length.size()), columns}};
  return b_.lt(b_.iota(type, 1), b_.broadcast(table(length), {0}, type.shape));
}

Value* SegmentSums::sums(Value* rows) const {
  Value* counted = b_.select(inside(chunk_length_, chunk_), rows, b_.like(rows, 0));
  Value* partial = b_.sum(counted, {1});
  const auto most = static_cast<int64_t>(*std::ranges::max_element(segment_chunks_));
  const auto last = static_cast<int64_t>(chunk_begin_.size()) - 1;
  Value* parts = b_.gather(partial, row_places(first_chunk_, most, last));
  return b_.sum(b_.select(inside(segment_chunks_, most), parts, b_.like(parts, 0)), {1});
}

/// The last segment that begins no later than an element: from the one of its block of `chunk_` elements on,
/// by halving steps over those that begin inside the block.
Value* SegmentSums::segment_of_elements() const {
  std::vector<double> coarse;
  int64_t most = 0;
  for (int64_t begin = 0; begin < elements_; begin += chunk_) {
    const auto until = [&](int64_t place) {
      return std::ranges::upper_bound(offsets_, static_cast<double>(place)) - offsets_.begin() - 1;
    };
    coarse.push_back(static_cast<double>(std::max<int64_t>(0, until(begin))));
    most = std::max<int64_t>(most, until(std::min(begin + chunk_, elements_) - 1) - until(begin));
  }
  const Type type{DType::i32, {elements_}};
  Value* place = b_.iota(type, 0);
  Value* found = b_.gather(table(coarse), b_.div(place, b_.constant(static_cast<double>(chunk_), type)));
  const double last = static_cast<double>(offsets_.size()) - 1;
  for (auto step = std::bit_floor(static_cast<uint64_t>(most)); step > 0; step /= 2) {
    Value* next = b_.min(shift(b_, found, static_cast<double>(step)), b_.constant(last, type));
    found = b_.select(b_.ge(place, b_.gather(table(offsets_), next)), next, found);
  }
  return found;
}

Value* SegmentSums::spread(Value* by_segment) const { return b_.gather(by_segment, segment_of_elements()); }

}  // namespace smelt
