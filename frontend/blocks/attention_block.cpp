// Attention of one block, to the stack itself or to the encoder's output: query, key and value, the attention
// itself, the projection back.
#include <cmath>

#include "frontend/blocks/blocks.h"
#include "frontend/tensor_parallel.h"
#include "ir/graph/attention_body.h"

namespace smelt {
namespace {

struct Heads {
  Value *query, *key, *value;
  Value *key_scales = nullptr,
        *value_scales = nullptr;  // of codes from a cache; null: key and value are none
};

Heads with_cache(const Heads& heads, const Cached& keys, const Cached& values) {
  return {heads.query, keys.numbers, values.numbers, keys.scales, values.scales};
}

Value* split_heads(BlockBuilder& b, const StackSpec& spec, Value* x, int64_t heads) {
  return b.graph.reshape(x, {x->shape()[0], x->shape()[1], heads, spec.head_dim});
}

/// One weight of all heads: those of the queries, the keys and the values.
Heads fused_groups(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  const StackSpec& spec = stack.spec;
  const int64_t all = spec.heads + 2 * spec.kv_heads;
  Value* heads =
      linear(b, stack.in_block("attention.qkv", block), x, all * spec.head_dim, b.spec.attention.qkv_bias);
  b.at(stack.in_block("attention", block), "split");
  heads = split_heads(b, spec, heads, all);
  Value* query = b.graph.slice(heads, 2, 0, spec.heads);
  Value* key = b.graph.slice(heads, 2, spec.heads, spec.kv_heads);
  return {query, key, b.graph.slice(heads, 2, spec.heads + spec.kv_heads, spec.kv_heads)};
}

/// One weight of query, key and value: in three parts, or three parts for every head.
Heads fused_heads(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  const StackSpec& spec = stack.spec;
  const bool by_head = b.spec.attention.qkv_by_head, bias = b.spec.attention.qkv_bias;
  const bool shared = is_tensor_parallel(b.graph.module().mesh()) && !by_head;
  const Place place = stack.in_block("attention.qkv", block);
  const int64_t width = spec.heads * spec.head_dim;
  Value* all = shared ? stacked_linear(b, place, x, 3, width, bias) : linear(b, place, x, 3 * width, bias);
  b.at(stack.in_block("attention", block), "split");
  const int64_t outer = by_head ? spec.heads : 3, inner = by_head ? 3 : spec.heads;
  all = b.graph.reshape(all, {x->shape()[0], x->shape()[1], outer, inner, spec.head_dim});
  const auto part = [&](int64_t i) {
    return split_heads(b, spec, b.graph.slice(all, by_head ? 3 : 2, i, 1), spec.heads);
  };
  Value* query = part(0);
  Value* key = part(1);
  return {query, key, part(2)};
}

/// `part` is "attention.query", "cross.key" and the like.
Value* projected(BlockBuilder& b, const Stack& stack, int64_t block, std::string_view part, Value* x,
                 int64_t heads) {
  const int64_t out = heads * stack.spec.head_dim;
  return split_heads(b, stack.spec, linear(b, stack.in_block(part, block), x, out, b.spec.attention.qkv_bias),
                     heads);
}

Heads separate_heads(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  Value* query = projected(b, stack, block, "attention.query", x, stack.spec.heads);
  Value* key = projected(b, stack, block, "attention.key", x, stack.spec.kv_heads);
  return {query, key, projected(b, stack, block, "attention.value", x, stack.spec.kv_heads)};
}

/// x itself where queries and keys are not normalised; `part` is "attention.query_norm" and the like.
Value* normalised(BlockBuilder& b, const Stack& stack, int64_t block, std::string_view part, Value* x) {
  if (!b.spec.attention.qk_norm) return x;
  const Place place = stack.in_block(part, block);
  if (!b.spec.attention.qk_norm_whole) return norm(b, place, x);
  const Shape heads = x->shape();
  x = b.graph.reshape(x, {heads[0], heads[1], heads[2] * heads[3]});
  return b.graph.reshape(norm(b, place, x), heads);
}

bool has_window(BlockBuilder& b, int64_t block) {
  const auto& attention = b.spec.attention;
  return attention.window > 0 &&
         attention.layers[static_cast<size_t>(block)] == LayerAttention::sliding_attention;
}

/// The cache of a block; null where there is none.
const Cache* cache_of(BlockBuilder& b, const Stack& stack, int64_t block) {
  return stack.ring && has_window(b, block) ? stack.ring : stack.cache;
}

Heads with_cached(BlockBuilder& b, const Stack& stack, int64_t block, const Heads& heads) {
  b.at(stack.in_block("attention", block), "cache");
  const Cache& cache = *cache_of(b, stack, block);
  const Cached keys = remember(b, cache, stack.in_block("key", block), heads.key);
  return with_cache(heads, keys, remember(b, cache, stack.in_block("value", block), heads.value));
}

double scale_of(const TransformerSpec& spec, const StackSpec& stack, int64_t block) {
  const int64_t width = spec.attention.scale_dim > 0 ? spec.attention.scale_dim : stack.head_dim;
  double scale = spec.attention.scaled ? 1 / std::sqrt(static_cast<double>(width)) : 1;
  if (spec.attention.scale > 0) scale = spec.attention.scale;
  return spec.attention.scaled_by_layer ? scale / static_cast<double>(block + 1) : scale;
}

/// Keys that the queries see, and addends of their scores.
struct Sight {
  bool causal = false;
  int64_t window = 0;  // as attention.window, of this block
  Value *mask = nullptr, *bias = nullptr, *segments = nullptr;
  Value *slopes = nullptr, *position_ids = nullptr;  // ALiBi; without ids the distance is that of places
  Value* past = nullptr;                             // i32[B]: keys before each row's first query
  Value* tokens = nullptr;                           // i32[B]: where keys are a ring, as Cache::tokens
  const QueryTiles* queries = nullptr;               // as Cache::queries
};

/// The window of a block, where the keys may be more.
int64_t window_of(BlockBuilder& b, int64_t block, const Dim& keys) {
  const int64_t window = b.spec.attention.window;
  return has_window(b, block) && b.graph.module().symbols.upper(keys) > window ? window : 0;
}

void add_distance(AttentionWriter& attention, const Sight& sight) {
  if (!sight.position_ids) return attention.add_distance(sight.slopes);
  Value *queries = attention.read(sight.position_ids, {0, 2}),
        *keys = attention.read(sight.position_ids, {0, 3});
  Value* slopes = attention.read(sight.slopes, {1});
  attention.modify([&](GraphBuilder& inside, Value* score) {
    Value* distance = inside.convert(inside.sub(keys, queries), DType::f32);
    return inside.add(score, inside.mul(slopes, distance));
  });
}

/// The attention with a body that says all of that; random numbers are named only where they are drawn.
Value* weighted_means(BlockBuilder& b, const Heads& heads, double scale, const Sight& sight) {
  Value* key = numbers_of(b.graph, {heads.key, heads.key_scales}, b.cache_type);
  Value* value = numbers_of(b.graph, {heads.value, heads.value_scales}, b.cache_type);
  Value* query = b.graph.convert(heads.query, key->dtype());  // of a cache's type
  AttentionWriter attention(b.graph, query, key, value, scale);
  if (sight.past) attention.place_queries(sight.past);
  if (sight.tokens) attention.place_keys_in_ring(sight.tokens);
  if (const double cap = b.spec.attention.soft_cap; cap > 0) attention.cap(cap);
  if (sight.bias) attention.add(sight.bias);
  if (sight.slopes) add_distance(attention, sight);
  if (sight.causal) attention.mask_future();
  if (sight.window > 0) attention.mask_past(sight.window);
  if (sight.mask) attention.mask_keys(sight.mask);
  if (sight.segments) attention.mask_segments(sight.segments, sight.segments);
  if (b.dropout.attention > 0) attention.drop(b.dropout.attention, b.graph.module().next_random_id());
  return b.graph.convert(attention.finish()->result(), heads.query->dtype());
}

/// Returns f32[R,heads,T,capacity], the rows of the run's bias f32[M,heads,1,capacity] for i32[R,T] tokens.
Value* bias_of_part(GraphBuilder& g, Value* bias, Value* tokens) {
  const Shape& all = bias->shape();
  return g.transpose(g.gather(g.reshape(bias, {all[0], all[1], all[3]}), tokens), {0, 2, 1, 3});
}

/// The attentions of both parts of the queries; keys and values are the lines of all pages.
Value* means_of_parts(BlockBuilder& b, const QueryTiles& queries, const Heads& heads, double scale,
                      const Sight& sight) {
  GraphBuilder& g = b.graph;
  const Shape &all = heads.query->shape(), row = {all[2], all[3]};
  Value* query = g.reshape(heads.query, {all[0] * all[1], row[0], row[1]});
  const auto means = [&](const QueryTiles::Part& part) {
    Sight own = sight;
    own.past = part.past;
    if (sight.bias) own.bias = bias_of_part(g, sight.bias, part.tokens);
    const auto rows = [&](Value* lines) { return lines ? g.gather(lines, part.lines) : nullptr; };
    const Heads read = {g.gather(query, part.tokens), rows(heads.key), rows(heads.value),
                        rows(heads.key_scales), rows(heads.value_scales)};
    const Shape& tokens = part.tokens->shape();
    return g.reshape(weighted_means(b, read, scale, own), {tokens[0] * tokens[1], row[0], row[1]});
  };
  Value* singles = means(queries.singles);
  Value* both = g.concat({singles, means(queries.tiles)}, 0);
  return g.reshape(g.gather(both, queries.results), all);
}

Value* attend(BlockBuilder& b, const Stack& stack, int64_t block, const std::string& part, const Heads& heads,
              const Sight& sight) {
  b.at(stack.in_block(part, block));
  const double scale = scale_of(b.spec, stack.spec, block);
  Value* context = sight.queries ? means_of_parts(b, *sight.queries, heads, scale, sight)
                                 : weighted_means(b, heads, scale, sight);
  const Shape& shape = context->shape();
  context = b.graph.reshape(context, {shape[0], shape[1], stack.spec.heads * stack.spec.head_dim});
  Value* out = linear(b, stack.in_block(part + ".out", block), context, b.spec.hidden,
                      b.spec.attention.out_bias, Into::residual);
  b.at(stack.in_block(part, block), "dropout");
  return dropout(b, out, b.dropout.residual);
}

}  // namespace

namespace {

Heads projected_heads(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  if (!b.spec.attention.fused_qkv) return separate_heads(b, stack, block, x);
  const bool groups = stack.spec.kv_heads != stack.spec.heads;
  return groups ? fused_groups(b, stack, block, x) : fused_heads(b, stack, block, x);
}

void rotate(BlockBuilder& b, const Stack& stack, int64_t block, Heads& heads) {
  const bool own = has_window(b, block) && stack.window_rotations.cosines;
  const Rotations& rotations = own ? stack.window_rotations : stack.rotations;
  if (!rotations.cosines) return;
  b.at(stack.in_block("attention", block), "rotary");
  heads.query = rotated(b, stack, rotations, heads.query);
  heads.key = rotated(b, stack, rotations, heads.key);
}

}  // namespace

Value* self_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  Heads heads = projected_heads(b, stack, block, x);
  heads.query = normalised(b, stack, block, "attention.query_norm", heads.query);
  heads.key = normalised(b, stack, block, "attention.key_norm", heads.key);
  rotate(b, stack, block, heads);
  const Cache* cache = cache_of(b, stack, block);
  if (cache) heads = with_cached(b, stack, block, heads);
  return attend(b, stack, block, "attention", heads,
                {.causal = stack.causal,
                 .window = window_of(b, block, cache ? Dim(cache->capacity) : heads.key->shape()[1]),
                 .mask = stack.mask,
                 .bias = cache && cache == stack.ring ? stack.ring_bias : stack.bias,
                 .segments = stack.segments,
                 .slopes = stack.slopes,
                 .position_ids = cache ? nullptr : stack.position_ids,
                 .past = cache ? cache->past : nullptr,
                 .tokens = cache ? cache->tokens : nullptr,
                 .queries = cache ? cache->queries : nullptr});
}

namespace {

Value* cross_query(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  x = projected(b, stack, block, "cross.query", x, stack.spec.heads);
  return normalised(b, stack, block, "cross.query_norm", x);
}

Value* cross_key(BlockBuilder& b, const Stack& stack, int64_t block) {
  Value* key = projected(b, stack, block, "cross.key", stack.memory, stack.spec.kv_heads);
  return normalised(b, stack, block, "cross.key_norm", key);
}

Value* cross_value(BlockBuilder& b, const Stack& stack, int64_t block) {
  return projected(b, stack, block, "cross.value", stack.memory, stack.spec.kv_heads);
}

}  // namespace

Value* cross_attention(BlockBuilder& b, const Stack& stack, int64_t block, Value* x) {
  Heads heads = {cross_query(b, stack, block, x), nullptr, nullptr};
  const Shape whole = x->shape();
  if (stack.memory_cache) {
    // Rows that read one source become consecutive queries of it.
    const Dim& readers = stack.memory_cache->readers;
    heads.query = b.graph.reshape(heads.query, {stack.memory_cache->rows->shape()[0], readers * whole[1],
                                                stack.spec.heads, stack.spec.head_dim});
    heads = with_cache(heads, recall(b, *stack.memory_cache, stack.in_block("cross.key", block)),
                       recall(b, *stack.memory_cache, stack.in_block("cross.value", block)));
  } else {
    heads.key = cross_key(b, stack, block);
    heads.value = cross_value(b, stack, block);
  }
  return b.graph.reshape(attend(b, stack, block, "cross", heads, {.mask = stack.memory_mask}), whole);
}

void remember_memory(BlockBuilder& b, const Stack& stack, int64_t block) {
  remember(b, *stack.memory_cache, stack.in_block("cross.key", block), cross_key(b, stack, block));
  remember(b, *stack.memory_cache, stack.in_block("cross.value", block), cross_value(b, stack, block));
}

}  // namespace smelt
