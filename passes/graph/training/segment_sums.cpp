#include "passes/graph/training/segment_sums.h"

#include <algorithm>
#include <numeric>

#include "passes/expressions.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/segment_search.h"

namespace smelt {

namespace {

constexpr int64_t kLargestTile = 16;

/// In a tile no segment begins but at its start.
int64_t tile_of(const State& flat) {
  if (flat.shape.size() == 1) return 1;
  int64_t tile = kLargestTile;
  for (const Segment& segment : flat.segments) tile = std::gcd(tile, segment.offset);
  return tile;
}

}  // namespace

SegmentSums::SegmentSums(GraphBuilder& b, const State& flat, int64_t chunk)
    : b_(b),
      shape_(flat.shape),
      tile_(tile_of(flat)),
      chunk_(chunk),
      elements_(*element_count(flat.shape).constant() / tile_) {
  cut(flat);
  places_ = row_places(chunk_begin_, chunk_, elements_ - 1);
  if (shape_.size() > 1) places_ = by_columns(places_);
}

void SegmentSums::cut(const State& flat) {
  const auto tiles = [&](const Segment& segment) { return (segment.elements() + tile_ - 1) / tile_; };
  int64_t longest = 1;
  for (const Segment& segment : flat.segments) longest = std::max(longest, tiles(segment));
  chunk_ = std::min(chunk_, longest);
  for (const Segment& segment : flat.segments) {
    offsets_.push_back(static_cast<double>(segment.offset));
    first_chunk_.push_back(static_cast<double>(chunk_begin_.size()));
    for (int64_t at = 0; at < tiles(segment); at += chunk_) {
      const int64_t first = segment.offset / tile_ + at;
      chunk_begin_.push_back(static_cast<double>(first));
      chunk_length_.push_back(static_cast<double>(std::min(chunk_, tiles(segment) - at)));
    }
    segment_chunks_.push_back(static_cast<double>(chunk_begin_.size()) - first_chunk_.back());
  }
}

int64_t SegmentSums::width() const { return elements_ * tile_ / *shape_[0].constant(); }

Value* SegmentSums::tiles(Value* flat) const {
  Value* buckets = b_.reshape(flat, {shape_[0], width()});
  Value* sums = b_.sum(b_.reshape(buckets, {shape_[0], width() / tile_, tile_}), {2});
  return b_.reshape(b_.transpose(sums, {1, 0}), {elements_});
}

Value* SegmentSums::by_columns(Value* tile) const {
  const int64_t tiles = width() / tile_;
  const auto columns = static_cast<double>(tiles);
  Value* bucket = b_.div(tile, b_.like(tile, columns));
  Value* column = b_.sub(tile, scale(b_, bucket, columns));
  return b_.add(scale(b_, column, static_cast<double>(*shape_[0].constant())), bucket);
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

Value* SegmentSums::segment_of_elements() const {
  return segment_of(b_, offsets_, flat_places(b_, shape_), elements_ * tile_, chunk_ * tile_);
}

Value* SegmentSums::spread(Value* by_segment) const { return b_.gather(by_segment, segment_of_elements()); }

}  // namespace smelt
