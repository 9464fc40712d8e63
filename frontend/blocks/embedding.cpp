// Tokens, positions and token types to the first hidden state.
#include <cmath>

#include "frontend/blocks/blocks.h"

namespace smelt {
namespace {

Value* add_token_types(BlockBuilder& b, Value* x, Value* token_types) {
  if (!token_types) return x;
  const Place place{"embedding.token_types"};
  Value* table = weight(b, place, {b.spec.embedding.token_types, x->shape()[2]}, b.spec.init.deviation);
  return b.graph.add(x, b.graph.create(Op::embedding, {table, token_types})->result());
}

}  // namespace

Value* freeze_padding(BlockBuilder& b, Value* x, Value* ids) {
  if (!b.spec.embedding.frozen_padding || b.spec.tokens.pad < 0) return x;
  Value* padding = b.graph.eq(ids, b.graph.like(ids, static_cast<double>(b.spec.tokens.pad)));
  return b.graph.select(b.graph.broadcast(padding, {0, 1}, x->shape()), b.graph.stop_gradient(x), x);
}

Value* embed_tokens(BlockBuilder& b, const Stack& stack, Value* ids, Value* token_types) {
  const Place tokens = b.spec.embedding.shared ? Place{"embedding.tokens"} : stack.part("tokens");
  const int64_t width = b.spec.embedding.width;
  Value* table = weight(b, tokens, {b.spec.vocab_size, width ? width : b.spec.hidden}, b.spec.init.deviation);
  Value* x = freeze_padding(b, b.graph.create(Op::embedding, {table, ids})->result(), ids);
  const bool last = b.spec.embedding.projected_last;
  if (b.spec.embedding.scaled) x = times(b, x, std::sqrt(static_cast<double>(b.spec.hidden)));
  x = times(b, x, b.spec.embedding.factor);
  if (width && !last) x = linear(b, stack.part("project_in"), x, b.spec.hidden, false);
  x = add_token_types(b, x, token_types);
  x = add_positions(b, stack, x, ids);
  if (b.spec.norm.embedding) x = norm(b, stack.part("embedding_norm"), x);
  b.at({"embedding.dropout"});
  x = dropout(b, x, b.dropout.embedding);
  return width && last ? linear(b, stack.part("project_in"), x, b.spec.hidden, true) : x;
}

}  // namespace smelt
