// Token positions: tables added to the embeddings, rotations of queries and keys, biases by distance.
#include <algorithm>

#include "frontend/blocks/blocks.h"
#include "frontend/blocks/position_tables.h"
#include "frontend/blocks/rotary.h"
#include "frontend/blocks/token_choice.h"

namespace smelt {
namespace {

int64_t most(BlockBuilder& b, const Dim& length) { return b.graph.module().symbols.upper(length); }

/// Positions that tokens of this run may have.
int64_t most(BlockBuilder& b, const Stack& stack, const Dim& length) {
  return stack.cache ? stack.cache->capacity : most(b, length);
}

/// Rows of `table` for every token of x; `ids` are their positions, null: 0, 1, 2, ...
Value* rows_for(BlockBuilder& b, Value* table, Value* ids, Value* x) {
  const int64_t offset = b.spec.positions.offset;
  if (!ids) {
    Value* rows = b.graph.slice(table, 0, offset, x->shape()[1]);
    return b.graph.broadcast_leading(rows, x->shape());
  }
  if (offset) ids = b.graph.add(ids, b.graph.like(ids, static_cast<double>(offset)));
  return b.graph.create(Op::embedding, {table, ids})->result();
}

/// i32[B,T]: how many of the tokens up to each one are real, and 0 for those that are not; of each segment
/// anew where there are `segments`.
Value* count_of(BlockBuilder& b, Value* real, Value* segments = nullptr) {
  const Shape& shape = real->shape();
  const Shape pairs = {shape[0], shape[1], shape[1]};
  Value* before = b.graph.ge(b.graph.iota({DType::i32, pairs}, 1), b.graph.iota({DType::i32, pairs}, 2));
  Value* seen = b.graph.logical_and(before, b.graph.broadcast(real, {0, 2}, pairs));
  if (segments)
    seen = b.graph.logical_and(seen, b.graph.eq(b.graph.broadcast(segments, {0, 1}, pairs),
                                                b.graph.broadcast(segments, {0, 2}, pairs)));
  Value* count = b.graph.sum(b.graph.convert(seen, DType::i32), {2});
  return b.graph.select(real, count, b.graph.like(count, 0));
}

/// Returns whether `value` is not `other`.
Value* differs(BlockBuilder& b, Value* value, int64_t other) {
  return b.graph.ne(value, b.graph.like(value, static_cast<double>(other)));
}

/// Counts the unmasked tokens from 0; masked ones have position -1.
Value* unmasked_positions(BlockBuilder& b, Value* mask) {
  Value* count = count_of(b, differs(b, mask, 0));
  return b.graph.sub(count, b.graph.like(count, 1));
}

/// Returns positions of tokens after earlier ones, i32[B,T]: past + 0, 1, 2, ... A paged cache may get
/// padding after the last position, which no query sees.
Value* cached_positions(BlockBuilder& b, const Cache& cache, Value* ids) {
  GraphBuilder& g = b.graph;
  Value* places = g.add(g.broadcast(cache.past, {0}, ids->shape()), g.iota(ids->type, 1));
  if (cache.pages == 0) return places;
  const int64_t longest = most(b, Dim::symbol("T"));
  return g.min(places, g.like(places, static_cast<double>(longest - 1)));
}

/// Returns the distance of each key before its query: i32[T,T] for a run without a cache, i32[B,T,capacity]
/// with one.
Value* distances(GraphBuilder& g, const Cache* cache, const Dim& length) {
  if (!cache) {
    const Type places = {DType::i32, {length, length}};
    return g.sub(g.iota(places, 1), g.iota(places, 0));
  }
  const Type places = {DType::i32, {cache->past->shape()[0], length, cache->capacity}};
  Value* key =
      cache->tokens ? g.broadcast(tokens_of_places(g, *cache), {0, 2}, places.shape) : g.iota(places, 2);
  Value* first = g.broadcast(cache->past, {0}, places.shape);
  return g.sub(key, g.add(first, g.iota(places, 1)));
}

/// Biases [buckets,heads], and the bucket of each distance from 1 - longest on.
struct DistanceTable {
  Value *biases, *buckets;
  int64_t longest;
};

/// f32[heads,T,T], or [B,heads,T,capacity] with a cache.
Value* distance_bias(GraphBuilder& g, const DistanceTable& table, const Cache* cache, const Dim& length) {
  Value* distance = distances(g, cache, length);
  distance = g.add(distance, g.like(distance, static_cast<double>(table.longest - 1)));
  // The places of a ring that no token has come to are at any distance.
  if (cache && cache->tokens) distance = within(g, distance, 2 * table.longest - 1);
  Value* rows = g.create(Op::embedding, {table.biases, g.gather(table.buckets, distance)})->result();
  return cache ? g.transpose(rows, {0, 3, 1, 2}) : g.transpose(rows, {2, 0, 1});
}

void prepare_distances(BlockBuilder& b, Stack& stack, const Dim& length) {
  const Place place = stack.part("distances");
  const int64_t longest = most(b, stack, length);
  Value* biases = weight(b, place, {b.spec.positions.buckets, stack.spec.heads}, b.spec.init.deviation);
  Value* buckets = b.graph.table(distance_buckets(b.spec.positions, longest, stack.causal),
                                 {DType::i32, {2 * longest - 1}});
  const DistanceTable table{biases, buckets, longest};
  stack.bias = distance_bias(b.graph, table, stack.cache, length);
  if (stack.ring) stack.ring_bias = distance_bias(b.graph, table, stack.ring, length);
}

Value* rotary_rows(BlockBuilder& b, const Stack& stack, std::vector<double> values, int64_t rows,
                   const Dim& length) {
  const int64_t half = rotary_width(b.spec, stack.spec) / 2;
  Value* table = b.graph.table(std::move(values), {DType::f32, {rows, half}});
  if (stack.position_ids) return b.graph.create(Op::embedding, {table, stack.position_ids})->result();
  return b.graph.slice(table, 0, 0, length);
}

/// i32[]: how many positions beyond `limit` the batch reaches.
Value* positions_beyond(BlockBuilder& b, const Stack& stack, const Dim& length, int64_t limit) {
  GraphBuilder& g = b.graph;
  Value* last = stack.position_ids ? g.reduce(ReduceOp::max, stack.position_ids, {0, 1})
                                   : g.reduce(ReduceOp::max, g.iota({DType::i32, {length}}, 0), {0});
  Value* beyond = g.add(last, g.like(last, static_cast<double>(1 - limit)));
  return g.max(beyond, g.like(beyond, 0));
}

/// Angles of every token where they depend on the length of the batch: a row of frequencies for each length
/// that has its own.
Value* angles_by_length(BlockBuilder& b, const TransformerSpec& spec, const Stack& stack, const Dim& length,
                        int64_t longest) {
  GraphBuilder& g = b.graph;
  const int64_t width = rotary_width(spec, stack.spec), half = width / 2, limit = rotary_limit(spec);
  const int64_t lengths = spec.positions.scaling == RopeScaling::longrope ? 2 : longest - limit + 1;
  std::vector<double> table;
  for (int64_t beyond = 0; beyond < lengths; ++beyond)
    for (double f : rotary_frequencies(spec, width, limit + beyond)) table.push_back(f);
  Value* row = positions_beyond(b, stack, length, limit);
  row = g.min(row, g.like(row, static_cast<double>(lengths - 1)));
  Value* frequencies = g.gather(g.table(std::move(table), {DType::f32, {lengths, half}}), row);
  Value* places = stack.position_ids ? stack.position_ids : g.iota({DType::i32, {length}}, 0);
  Shape shape = places->shape();
  shape.push_back(half);
  const auto last = static_cast<int64_t>(places->rank());
  places = g.broadcast_over(g.convert(places, DType::f32), {last}, shape);
  return g.mul(places, g.broadcast(frequencies, {last}, shape));
}

/// Returns one more than the largest position that may occur. A cache has no positions beyond the limit
/// unless its capacity is larger.
int64_t count_of_positions(BlockBuilder& b, const TransformerSpec& spec, const Stack& stack,
                           const Dim& length) {
  const int64_t longest = most(b, stack, length);
  const int64_t rows = std::max(longest, stack.position_ids ? spec.max_positions : 0);
  return stack.cache ? std::min(rows, std::max(longest, rotary_limit(spec))) : rows;
}

/// Rotations by the positions of `spec`: the model's, or those of its blocks with a window.
Rotations rotations_of(BlockBuilder& b, const TransformerSpec& spec, const Stack& stack, const Dim& length) {
  const int64_t rows = count_of_positions(b, spec, stack, length);
  if (rows > rotary_limit(spec)) {
    Value* angles = angles_by_length(b, spec, stack, length, rows);
    const double scale = rotary_magnitude(spec);
    Value* cosines = times(b, b.graph.cos(angles), scale);
    return {cosines, times(b, b.graph.sin(angles), scale)};
  }
  const RotaryTable table = rotary_table(spec, rotary_width(spec, stack.spec), rows);
  Value* cosines = rotary_rows(b, stack, table.cosines, rows, length);
  return {cosines, rotary_rows(b, stack, table.sines, rows, length)};
}

void prepare_rotations(BlockBuilder& b, Stack& stack, const Dim& length) {
  stack.rotations = rotations_of(b, b.spec, stack, length);
  const double theta = b.spec.positions.window_rope_theta;
  if (theta == 0 || b.spec.attention.window == 0) return;
  TransformerSpec windows = b.spec;
  windows.positions.rope_theta = theta;
  windows.positions.scaling = RopeScaling::none;
  stack.window_rotations = rotations_of(b, windows, stack, length);
}

}  // namespace

Value* add_positions(BlockBuilder& b, const Stack& stack, Value* x, Value* ids) {
  const auto& p = b.spec.positions;
  if (p.kind != PositionKind::learned && p.kind != PositionKind::sinusoidal) return x;
  const Place place = stack.part("positions");
  b.at(place);
  if (!ids) {  // patches: a row each
    Value* table = weight(b, place, {1, x->shape()[1], b.spec.hidden}, b.spec.init.deviation);
    table = b.graph.reshape(table, {x->shape()[1], b.spec.hidden});
    return b.graph.add(x, b.graph.broadcast_leading(table, x->shape()));
  }
  const int64_t rows = p.kind == PositionKind::learned ? b.spec.max_positions : most(b, stack, x->shape()[1]);
  const int64_t width = *x->shape()[2].constant();
  const Shape shape = {rows + p.offset + (p.counted ? 1 : 0), width};  // counted from 1; 0 is padding
  Value* table = p.kind == PositionKind::learned
                     ? weight(b, place, shape, b.spec.init.deviation)
                     : b.graph.table(position_table(b.spec, *shape[0].constant()), {DType::f32, shape});
  Value* places = stack.position_ids;
  if (p.counted && stack.cache) places = b.graph.add(places, b.graph.like(places, 1));
  // From the padding id on, as fairseq numbers them.
  if (p.counted && !places) places = count_of(b, differs(b, ids, b.spec.tokens.pad), stack.segments);
  Value* found = rows_for(b, table, places, x);
  if (p.counted) found = freeze_padding(b, found, ids);
  return b.graph.add(x, found);
}

void prepare_positions(BlockBuilder& b, Stack& stack, Value* ids) {
  b.at(stack.part("positions"));
  const Dim& length = ids->shape()[1];
  if (stack.cache) stack.position_ids = cached_positions(b, *stack.cache, ids);
  const auto& p = b.spec.positions;
  if (p.counted_by_mask && stack.mask && !stack.position_ids)
    stack.position_ids = unmasked_positions(b, stack.mask);
  if (p.kind == PositionKind::relative_buckets) prepare_distances(b, stack, length);
  if (p.kind == PositionKind::alibi)
    stack.slopes = b.graph.table(alibi_slopes(stack.spec.heads), {DType::f32, {stack.spec.heads}});
  if (p.kind == PositionKind::rope) prepare_rotations(b, stack, length);
}

namespace {

/// The two elements of every pair, [B,T,heads,width/2].
struct Pairs {
  Value *low, *high;
};

/// Rotates the pairs by the angles of the tokens' positions.
Pairs turned(GraphBuilder& g, const Rotations& rotations, const Pairs& pairs) {
  const auto [low, high] = pairs;
  const Shape& shape = low->shape();
  const auto spread = [&](Value* table) {
    return table->rank() == 3 ? g.broadcast(table, {0, 1, 3}, shape) : g.broadcast(table, {1, 3}, shape);
  };
  Value *cosine = spread(rotations.cosines), *sine = spread(rotations.sines);
  Value* first = g.sub(g.mul(low, cosine), g.mul(high, sine));
  return {first, g.add(g.mul(high, cosine), g.mul(low, sine))};
}

/// Returns the first `width` elements of each head, rotated in pairs of neighbours.
Value* turned_neighbours(GraphBuilder& g, const Rotations& rotations, Value* x, int64_t width) {
  const Shape &all = x->shape(), half = {all[0], all[1], all[2], width / 2},
              single = {all[0], all[1], all[2], width / 2, 1};
  Value* pairs = g.reshape(g.slice(x, 3, 0, width), {all[0], all[1], all[2], width / 2, 2});
  Value* low = g.reshape(g.slice(pairs, 4, 0, 1), half);
  const auto [first, second] = turned(g, rotations, {low, g.reshape(g.slice(pairs, 4, 1, 1), half)});
  Value* both = g.concat({g.reshape(first, single), g.reshape(second, single)}, 4);
  return g.reshape(both, {all[0], all[1], all[2], width});
}

}  // namespace

Value* rotated(BlockBuilder& b, const Stack& stack, const Rotations& rotations, Value* x) {
  GraphBuilder& g = b.graph;
  const int64_t width = rotary_width(b.spec, stack.spec), half = width / 2;
  llvm::SmallVector<Value*, 3> parts;
  if (b.spec.positions.interleaved) {
    parts = {turned_neighbours(g, rotations, x, width)};
  } else {
    Value *low = g.slice(x, 3, 0, half), *high = g.slice(x, 3, half, half);
    const auto [first, second] = turned(g, rotations, {low, high});
    parts = {first, second};
  }
  if (const int64_t rest = stack.spec.head_dim - width) parts.push_back(g.slice(x, 3, width, rest));
  return parts.size() == 1 ? parts[0] : g.concat(parts, 3);
}

}  // namespace smelt
