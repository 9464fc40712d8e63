// Tokens and positions to the first hidden state.
#include <cmath>

#include "frontend/blocks.h"

namespace smelt {
namespace {

/// Positions are 0 ... T-1: the first rows of the table, after the offset that some families keep.
Value* add_positions(BlockBuilder& b, Value* x) {
  if (b.spec.positions.kind != PositionKind::learned) return x;
  const Place place{"embedding.positions"};
  const int64_t offset = b.spec.positions.offset;
  Value* table = weight(b, place, {b.spec.max_positions + offset, b.spec.hidden}, b.spec.init.deviation);
  Value* rows = b.graph.slice(table, 0, offset, b.length);
  return b.graph.add(x, b.graph.broadcast_leading(rows, x->shape()));
}

}  // namespace

Value* embed_tokens(BlockBuilder& b, Value* ids) {
  const Place tokens{"embedding.tokens"};
  Value* table = weight(b, tokens, {b.spec.vocab_size, b.spec.hidden}, b.spec.init.deviation);
  Value* x = b.graph.create(Op::embedding, {table, ids})->result();
  if (b.spec.embedding.scaled)
    x = b.graph.mul(x, b.graph.like(x, std::sqrt(static_cast<double>(b.spec.hidden))));
  x = add_positions(b, x);
  if (b.spec.norm.embedding) x = norm(b, {"embedding.norm"}, x);
  b.at({"embedding.dropout"});
  return dropout(b, x, b.dropout.embedding);
}

}  // namespace smelt
