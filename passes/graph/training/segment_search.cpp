#include "passes/graph/training/segment_search.h"

#include <algorithm>
#include <bit>

#include "passes/expressions.h"
#include "passes/graph/training/flatten_parameters.h"

namespace smelt {
namespace {

/// For each block the segment in which it begins, and the most segments that begin inside one block.
struct Blocks {
  std::vector<double> first;
  int64_t most = 0;
};

Blocks blocks_of(const std::vector<double>& begins, int64_t elements, int64_t block) {
  const auto last_until = [&](int64_t place) -> int64_t {
    return std::ranges::upper_bound(begins, static_cast<double>(place)) - begins.begin() - 1;
  };
  Blocks blocks;
  for (int64_t begin = 0; begin < elements; begin += block) {
    const int64_t first = last_until(begin);
    blocks.first.push_back(static_cast<double>(std::max<int64_t>(0, first)));
    blocks.most = std::max(blocks.most, last_until(std::min(begin + block, elements) - 1) - first);
  }
  return blocks;
}

}  // namespace

Value* vector_table(GraphBuilder& b, const std::vector<double>& values, DType dtype) {
  return b.table(values, {dtype, {static_cast<int64_t>(values.size())}});
}

Value* segment_of(GraphBuilder& b, const std::vector<double>& begins, Value* place, int64_t elements,
                  int64_t block) {
  const Blocks blocks = blocks_of(begins, elements, block);
  Value* found = b.gather(vector_table(b, blocks.first, DType::i32),
                          b.div(place, b.like(place, static_cast<double>(block))));
  const double last = static_cast<double>(begins.size()) - 1;
  for (auto step = std::bit_floor(static_cast<uint64_t>(blocks.most)); step > 0; step /= 2) {
    Value* next = b.min(shift(b, found, static_cast<double>(step)), b.like(found, last));
    found = b.select(b.ge(place, b.gather(vector_table(b, begins, DType::i32), next)), next, found);
  }
  return found;
}

SegmentNumbers::SegmentNumbers(GraphBuilder& b, const State& flat, Value* place)
    : b_(b), place_(place ? place : flat_places(b, flat.shape)) {
  const int64_t elements = *element_count(flat.shape).constant();
  int64_t end = 0;
  const auto pad_until = [&](int64_t next) {
    if (next > end) begins_.push_back(static_cast<double>(end)), segment_.push_back(-1);
  };
  for (size_t i = 0; i < flat.segments.size(); ++i) {
    pad_until(flat.segments[i].offset);
    begins_.push_back(static_cast<double>(flat.segments[i].offset));
    segment_.push_back(static_cast<int64_t>(i));
    end = flat.segments[i].offset + flat.segments[i].elements();
  }
  pad_until(elements);
  found_ = segment_of(b, begins_, place_, elements);
}

Value* SegmentNumbers::find(const std::vector<double>& values, DType dtype) const {
  std::vector<double> numbers;
  for (const int64_t segment : segment_)
    numbers.push_back(segment < 0 ? 0 : values[static_cast<size_t>(segment)]);
  return b_.gather(vector_table(b_, numbers, dtype), found_);
}

}  // namespace smelt
