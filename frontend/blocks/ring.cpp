// Sliding-window KV caches: rings with the positions of a block's window and those of one run. A run
// overwrites the positions of tokens that neither its own queries nor later ones see.
#include "ir/ops/ring_places.h"

#include "frontend/blocks/blocks.h"
#include "frontend/blocks/token_choice.h"

namespace smelt {
namespace {

/// Returns the slot of each position of a ring: that of the token there.
Value* row_of_ring_place(GraphBuilder& g, const Cache& ring, const Cache& tokens) {
  Value* held = within(g, tokens_of_places(g, ring), tokens.capacity);
  Value* row = g.iota(held->type, 0);
  Value* line = g.add(g.mul(row, g.like(row, static_cast<double>(tokens.capacity))), held);
  const Shape& table = tokens.row_of_place->shape();
  return g.gather(g.reshape(tokens.row_of_place, {table[0] * table[1]}), line);
}

}  // namespace

Cache ring_cache(GraphBuilder& g, const Cache& tokens, int64_t places, const Dim& fresh) {
  const Shape rows = tokens.past->shape();
  Cache ring = tokens;
  ring.capacity = places;
  ring.tokens = g.add(tokens.past, g.broadcast(g.extent(fresh, DType::i32), {}, rows));
  const Type all{DType::i32, {rows[0], fresh}};
  ring.new_places = place_in_ring(g, g.add(g.broadcast(tokens.past, {0}, all.shape), g.iota(all, 1)), places);
  if (tokens.row_of_place) ring.row_of_place = row_of_ring_place(g, ring, tokens);
  return ring;
}

Value* tokens_of_places(GraphBuilder& g, const Cache& ring) {
  const Type places{DType::i32, {ring.past->shape()[0], ring.capacity}};
  const RingEnd end = ring_end(g, ring.tokens, ring.capacity);
  const auto spread = [&](Value* x) { return g.broadcast(x, {0}, places.shape); };
  return token_at(g, g.iota(places, 1), {spread(end.last_place), spread(end.first_token)}, ring.capacity);
}

}  // namespace smelt
