// Caches of blocks whose queries see a window of keys: rings of the window's places and those of one run.
// What a run puts there takes the places of tokens that none of its queries, and none behind them, sees.
#include "ir/ring_places.h"

#include "frontend/blocks/blocks.h"
#include "frontend/blocks/token_choice.h"

namespace smelt {
namespace {

/// The slot in which each place of a ring lies: that of the token which is there.
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
