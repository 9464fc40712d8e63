// Random attention nodes: their score_mods have up to five modifications in random order.
#pragma once

#include <cmath>
#include <random>

#include "ir/graph/attention_body.h"

namespace smelt::testing {

/// Sizes of an attention. `heads` is the number of query heads; `group` of them share a key head.
struct AttentionSizes {
  Dim batch, queries, keys;
  int64_t heads, group, width;
};

/// Writer of one attention node. Its float operands are parameters, or inputs if `as_inputs`; its integer
/// operands are inputs.
class RandomAttention {
 public:
  RandomAttention(GraphBuilder& b, const AttentionSizes& sizes, uint64_t seed, bool as_inputs = false)
      : b_(b), sizes_(sizes), random_(seed), as_inputs_(as_inputs) {}

  /// Writes an attention of q, k and v with one to five modifications, and returns its node.
  Node* write() {
    const auto [batch, queries, keys, heads, group, width] = sizes_;
    Value *q = parameter("q", {batch, queries, heads, width}),
          *k = parameter("k", {batch, keys, heads / group, width}),
          *v = parameter("v", {batch, keys, heads / group, width});
    AttentionWriter writer(b_, q, k, v, 0.7 / std::sqrt(static_cast<double>(width)));
    for (int64_t count = below(5); count >= 0; --count) modify(writer);
    return writer.finish();
  }

 private:
  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
  std::string fresh(const char* what) { return what + std::to_string(count_++); }
  Value* parameter(const std::string& name, Shape shape) {
    if (as_inputs_) return b_.input(name, {DType::f32, std::move(shape)});
    return b_.parameter(Module::Parameter{name, {DType::f32, std::move(shape)}, {}, true, {}, false, false});
  }
  Value* number(const char* what, Shape shape) { return parameter(fresh(what), std::move(shape)); }
  Value* whole(const char* what, Shape shape) {
    return b_.input(fresh(what), {DType::i32, std::move(shape)});
  }

  void modify(AttentionWriter& writer) {
    const auto [batch, queries, keys, heads, group, width] = sizes_;
    switch (below(14)) {
      case 0:
        return writer.cap(1.5);
      case 1:
        return writer.add(number("bias", {heads, queries, keys}));
      case 2:
        return writer.add(number("bias", {batch, heads, queries, keys}));
      case 3:
        return writer.add(number("bias", {queries, keys}));
      case 4:
        return writer.add_distance(number("slopes", {heads}));
      case 5:
        return writer.mask_future();
      case 6:
        return writer.mask_past(1 + below(12));
      case 7:
        return writer.mask_keys(whole("mask", {batch, keys}));
      case 8:
        return writer.mask_segments(whole("segments", {batch, queries}), whole("segments", {batch, keys}));
      case 9:
        return writer.drop(0.3, b_.module().next_random_id());
      case 10:
        return scale_rows(writer);
      case 11:
        return wave(writer);
      case 12:
        return mask_own_segments(writer);
      default:
        return multiply_places(writer);
    }
  }

  /// Multiplies scores by a number per row, and adds a bias per key.
  void scale_rows(AttentionWriter& writer) {
    const auto [batch, queries, keys, heads, group, width] = sizes_;
    Value *rows = writer.read(number("rows", {batch, heads, queries}), {0, 1, 2}),
          *bias = writer.read(number("keys", {batch, keys}), {0, 3});
    writer.modify([&](GraphBuilder& b, Value* score) { return b.add(b.mul(score, rows), bias); });
  }

  /// score + w[h] * sigmoid(w[h] * score): two operations read w.
  void wave(AttentionWriter& writer) {
    Value* weight = writer.read(number("wave", {sizes_.heads}), {1});
    writer.modify([&](GraphBuilder& b, Value* score) {
      return b.add(score, b.mul(weight, b.sigmoid(b.mul(weight, score))));
    });
  }

  // One argument that is read both along queries and along keys. Requires equal numbers of both; otherwise
  // wave() is used.

  void mask_own_segments(AttentionWriter& writer) {
    if (sizes_.queries != sizes_.keys) return wave(writer);
    Value* segments = whole("segments", {sizes_.batch, sizes_.queries});
    writer.mask_segments(segments, segments);
  }

  /// score + a[t] * a[s]
  void multiply_places(AttentionWriter& writer) {
    if (sizes_.queries != sizes_.keys) return wave(writer);
    Value* places = number("places", {sizes_.batch, sizes_.queries});
    Value *rows = writer.read(places, {0, 2}), *columns = writer.read(places, {0, 3});
    writer.modify([&](GraphBuilder& b, Value* score) { return b.add(score, b.mul(rows, columns)); });
  }

  GraphBuilder& b_;
  AttentionSizes sizes_;
  std::mt19937_64 random_;
  bool as_inputs_;
  int count_ = 0;
};

/// Returns random sizes of at most 7, with groups of at most three heads.
inline AttentionSizes small_sizes(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto upto = [&](uint64_t most) { return static_cast<int64_t>(1 + random() % most); };
  AttentionSizes sizes{upto(3), upto(7), upto(7), 0, upto(3), upto(5)};
  sizes.heads = sizes.group * upto(2);
  if (random() % 2 == 0) sizes.keys = sizes.queries;
  return sizes;
}

}  // namespace smelt::testing
