// Self-attention of one block: query, key and value, the attention itself, the projection back.
#include <cmath>

#include "frontend/blocks.h"

namespace smelt {
namespace {

struct Heads {
  Value *query, *key, *value;
};

Value* split_heads(BlockBuilder& b, Value* x, int64_t heads) {
  return b.graph.reshape(x, {b.batch, b.length, heads, b.spec.decoder.head_dim});
}

/// One weight of three parts, in the order query, key, value.
Heads fused_heads(BlockBuilder& b, int64_t block, Value* x) {
  const StackSpec& stack = b.spec.decoder;
  const Place place{"decoder.{}.attention.qkv", block};
  Value* all = linear(b, place, x, 3 * stack.heads * stack.head_dim, b.spec.attention.qkv_bias);
  b.at({"decoder.{}.attention", block}, "split");
  all = b.graph.reshape(all, {b.batch, b.length, 3, stack.heads, stack.head_dim});
  const auto part = [&](int64_t i) { return split_heads(b, b.graph.slice(all, 2, i, 1), stack.heads); };
  Value* query = part(0);
  Value* key = part(1);
  return {query, key, part(2)};
}

Heads separate_heads(BlockBuilder& b, int64_t block, Value* x) {
  const StackSpec& stack = b.spec.decoder;
  const auto part = [&](std::string_view role, int64_t heads) {
    return split_heads(b, linear(b, {role, block}, x, heads * stack.head_dim, b.spec.attention.qkv_bias),
                       heads);
  };
  Value* query = part("decoder.{}.attention.query", stack.heads);
  Value* key = part("decoder.{}.attention.key", stack.kv_heads);
  return {query, key, part("decoder.{}.attention.value", stack.kv_heads)};
}

double scale_of(const TransformerSpec& spec, int64_t block) {
  const double scale = spec.attention.scaled ? 1 / std::sqrt(static_cast<double>(spec.decoder.head_dim)) : 1;
  return spec.attention.scaled_by_layer ? scale / static_cast<double>(block + 1) : scale;
}

/// The id belongs to the dropout of the probabilities; without dropout there is no random number to name.
int64_t random_id(BlockBuilder& b) { return b.dropout.attention > 0 ? b.graph.module().next_random_id() : 0; }

}  // namespace

Value* self_attention(BlockBuilder& b, int64_t block, Value* x) {
  const StackSpec& stack = b.spec.decoder;
  const Heads heads = b.spec.attention.fused_qkv ? fused_heads(b, block, x) : separate_heads(b, block, x);
  b.at({"decoder.{}.attention", block});
  const Attributes attributes = {
      {"scale", scale_of(b.spec, block)}, {"causal", true}, {"p", b.dropout.attention}, {"id", random_id(b)}};
  Value* context = b.graph.create(Op::attention, {heads.query, heads.key, heads.value}, attributes)->result();
  context = b.graph.reshape(context, {b.batch, b.length, stack.heads * stack.head_dim});
  Value* out = linear(b, {"decoder.{}.attention.out", block}, context, b.spec.hidden,
                      b.spec.attention.out_bias, Into::residual);
  b.at({"decoder.{}.attention", block}, "dropout");
  return dropout(b, out, b.dropout.residual);
}

}  // namespace smelt
