// y and lse of a block of queries: y and the sum of its exponentials are those of the keys so far, and are
// scaled where a key block has a higher maximum.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/cpu/attention_blocks.h"

namespace smelt {
namespace {

enum List : int64_t { maxima = 0, sums = 2, factors = 4 };  // maxima and sums have an old and a new one

void scale_rows(float* rows, const float* factors, int64_t count, int64_t width) {
  for (int64_t i = 0; i < count; ++i) {
    if (factors[i] == 1) continue;
    for (int64_t d = 0; d < width; ++d) rows[i * width + d] *= factors[i];
  }
}

}  // namespace

void AttentionLane::forward(int64_t item) {
  Block block = query_block(item / a_.query_blocks() / a_.heads, item / a_.query_blocks() % a_.heads,
                            item % a_.query_blocks());
  float* y = memory_ + a_.lane.first_sums;
  std::fill_n(y, block.queries * a_.width(), 0.0f);
  std::fill_n(row_list(maxima), block.queries, -std::numeric_limits<float>::infinity());
  std::fill_n(row_list(sums), block.queries, 0.0f);
  old_ = 0;
  const Rows q = queries_of(0, block, memory_ + a_.lane.queries);
  for_key_blocks(block, [&](const Block& part) {
    if (sees(part)) add_forward(part, q, y);
  });
  finish_forward(block, y);
}

void AttentionLane::add_forward(const Block& block, const Rows& q, float* y) {
  const Rows k = keys_of(1, block, memory_ + a_.lane.keys), v = keys_of(2, block, memory_ + a_.lane.values);
  const auto factor = static_cast<float>(a_.spec().scale);
  RowProduct{block.queries, block.keys, a_.width(), factor, false, true, false}.run(
      q.at, q.stride, k.at, k.stride, tile(0), tile_keys());
  const auto set = [&](ForwardTile which, float* at, bool is_row) {
    set_tile(static_cast<int>(which), at, block, is_row);
  };
  set(ForwardTile::score, tile(0), false), set(ForwardTile::weight, tile(0), false);
  set(ForwardTile::maximum, row_list(maxima + old_), true),
      set(ForwardTile::sum, row_list(sums + old_), true);
  old_ = 1 - old_;
  set(ForwardTile::new_maximum, row_list(maxima + old_), true);
  set(ForwardTile::new_sum, row_list(sums + old_), true);
  set(ForwardTile::factor, row_list(factors), true);
  body(block);
  scale_rows(y, row_list(factors), block.queries, a_.width());
  RowProduct{block.queries, a_.width(), block.keys}.run(tile(0), tile_keys(), v.at, v.stride, y, a_.width());
}

/// A query that sees no key has the sum 0: its y is 0, and its lse -inf.
void AttentionLane::finish_forward(const Block& block, float* y) {
  const float *maximum = row_list(maxima + old_), *sum = row_list(sums + old_);
  float *lse = argument(a_.spec().rows[0]) + first_row(block), *inverse = row_list(factors);
  for (int64_t i = 0; i < block.queries; ++i) {
    inverse[i] = sum[i] == 0 ? 0 : 1 / sum[i];
    lse[i] = maximum[i] + std::log(sum[i]);
  }
  scale_rows(y, inverse, block.queries, a_.width());
  write(3, block.b, block.h, block.first_query, block.queries, y);
}

}  // namespace smelt
