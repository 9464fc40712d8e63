// dq, dk and dv of a head of keys and the queries that share it, and gradients of the tensors that the
// score_mod reads: those that are sums over keys and queries with dq, dk and dv; those with one number per
// query and key separately, over all axes that they sum over.
#include <algorithm>

#include "runtime/cpu/attention_blocks.h"

namespace smelt {
namespace {

enum Operand : size_t { q_matrix, k_matrix, v_matrix, dy_matrix, dq_matrix, dk_matrix, dv_matrix };

/// Sums in eight chains, which a processor adds concurrently.
float sum_of(const float* at, int64_t count) {
  float chains[8] = {}, sum = 0;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t j = 0; j < 8; ++j) chains[j] += at[i + j];
  for (; i < count; ++i) sum += at[i];
  for (const float chain : chains) sum += chain;
  return sum;
}

void add_to(float* sums, const float* at, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += at[i];
}

}  // namespace

void AttentionLane::gradients(int64_t item) {
  const int64_t b = item / a_.key_heads, key_head = item % a_.key_heads, first = key_head * a_.group();
  clear_gradients(b, key_head);
  float *dk = memory_ + a_.lane.first_sums, *dv = memory_ + a_.lane.second_sums;
  for_key_blocks({b, first, 0, a_.queries, 0, 0}, [&](const Block& keys) {
    std::fill_n(dk, keys.keys * a_.width(), 0.0f);
    std::fill_n(dv, keys.keys * a_.width(), 0.0f);
    const Rows k = keys_of(k_matrix, keys, memory_ + a_.lane.keys),
               v = keys_of(v_matrix, keys, memory_ + a_.lane.values);
    for (int64_t h = first; h < first + a_.group(); ++h) {
      Block of_head = keys;
      of_head.h = h;
      for_query_blocks(of_head, [&](const Block& block) {
        if (sees(block)) add_gradients(block, k, v);
      });
    }
    write(dk_matrix, b, key_head, keys.first_key, keys.keys, dk);
    write(dv_matrix, b, key_head, keys.first_key, keys.keys, dv);
  });
  for (int64_t h = first; h < first + a_.group(); ++h) write(dq_matrix, b, h, 0, a_.queries, query_sums(h));
}

/// dq of a head.
float* AttentionLane::query_sums(int64_t head) const {
  return memory_ + a_.lane.query_sums + head % a_.group() * a_.queries * a_.width();
}

void AttentionLane::clear_gradients(int64_t b, int64_t key_head) {
  const int64_t first = key_head * a_.group();
  std::fill_n(query_sums(first), a_.group() * a_.queries * a_.width(), 0.0f);
  for (size_t i = 0; i < a_.spec().sums.size(); ++i) {
    const int64_t length = is_row_sum(i) ? a_.queries : a_.keys;
    std::fill_n(argument(a_.spec().sums[i]) + (b * a_.heads + first) * length, a_.group() * length, 0.0f);
  }
}

bool AttentionLane::is_row_sum(size_t sum) const { return static_cast<int>(sum) < a_.spec().row_gradients; }

/// The first two tiles hold scores and products, then the weights and the scores' gradients.
void AttentionLane::run_gradient_body(const Block& block, const Rows& k, const Rows& v, const Rows& q,
                                      const Rows& dy) {
  RowProduct{block.queries, block.keys, a_.width(), static_cast<float>(a_.spec().scale), false, true, false}
      .run(q.at, q.stride, k.at, k.stride, tile(0), tile_keys());
  RowProduct{block.queries, block.keys, a_.width(), 1, false, true, false}.run(
      dy.at, dy.stride, v.at, v.stride, tile(1), tile_keys());
  for (int i = 0; i < tile_count(a_.spec()); ++i) {
    const int read = static_cast<int>(GradientTile::weight);
    set_tile(i, tile(i < read ? i : i - read), block, false);
  }
  body(block);
}

void AttentionLane::add_gradients(const Block& block, const Rows& k, const Rows& v) {
  const int64_t width = a_.width();
  const auto factor = static_cast<float>(a_.spec().scale);
  const Rows q = queries_of(q_matrix, block, memory_ + a_.lane.queries),
             dy = queries_of(dy_matrix, block, memory_ + a_.lane.others);
  run_gradient_body(block, k, v, q, dy);
  const float *weight = tile(0), *gradient = tile(1);
  RowProduct{block.keys, width, block.queries, 1, true}.run(weight, tile_keys(), dy.at, dy.stride,
                                                            memory_ + a_.lane.second_sums, width);
  RowProduct{block.keys, width, block.queries, factor, true}.run(gradient, tile_keys(), q.at, q.stride,
                                                                 memory_ + a_.lane.first_sums, width);
  RowProduct{block.queries, width, block.keys, factor}.run(
      gradient, tile_keys(), k.at, k.stride, query_sums(block.h) + block.first_query * width, width);
  add_argument_sums(block);
}

void AttentionLane::add_argument_sums(const Block& block) {
  for (size_t i = 0; i < a_.spec().sums.size(); ++i) {
    const float* made = tile(2 + static_cast<int64_t>(i));
    float* sums = argument(a_.spec().sums[i]);
    if (is_row_sum(i)) {
      sums += first_row(block);
      for (int64_t t = 0; t < block.queries; ++t) sums[t] += sum_of(made + t * tile_keys(), block.keys);
    } else {
      sums += (block.b * a_.heads + block.h) * a_.keys + block.first_key;
      for (int64_t t = 0; t < block.queries; ++t) add_to(sums, made + t * tile_keys(), block.keys);
    }
  }
}

/// A block of queries of the sums, over all batches and heads that have no sum of their own.
void AttentionLane::element_gradient(int64_t item) {
  const AttentionSpec& spec = a_.spec();
  const int64_t outer = item / a_.query_blocks(), kept_heads = spec.keeps_heads ? a_.heads : 1;
  const int64_t b = outer / kept_heads, h = outer % kept_heads;
  const Block first = query_block(b, h, item % a_.query_blocks());
  float* sums = argument(spec.sums[0]) + (outer * a_.queries + first.first_query) * a_.keys;
  std::fill_n(sums, first.queries * a_.keys, 0.0f);
  for (Block block = first; block.b < (spec.keeps_batch ? b + 1 : a_.batch); ++block.b)
    for (block.h = h; block.h < (spec.keeps_heads ? h + 1 : a_.heads); ++block.h)
      for_key_blocks(block, [&](const Block& part) {
        if (sees(part)) add_elements(part, sums);
      });
}

void AttentionLane::add_elements(const Block& block, float* sums) {
  run_gradient_body(block, keys_of(k_matrix, block, memory_ + a_.lane.keys),
                    keys_of(v_matrix, block, memory_ + a_.lane.values),
                    queries_of(q_matrix, block, memory_ + a_.lane.queries),
                    queries_of(dy_matrix, block, memory_ + a_.lane.others));
  for (int64_t t = 0; t < block.queries; ++t)
    add_to(sums + t * a_.keys + block.first_key, tile(2) + t * tile_keys(), block.keys);
}

}  // namespace smelt
