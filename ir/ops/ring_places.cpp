#include "ir/ops/ring_places.h"

namespace smelt {
namespace {

/// The largest multiple of a ring's places up to each token.
Value* turn_of(GraphBuilder& g, Value* token, int64_t places) {
  Value* all = g.like(token, static_cast<double>(places));
  return g.mul(g.div(token, all), all);
}

}  // namespace

RingEnd ring_end(GraphBuilder& g, Value* tokens, int64_t places) {
  Value* last = g.sub(tokens, g.like(tokens, 1));
  Value* first = turn_of(g, last, places);
  return {g.sub(last, first), first};
}

Value* token_at(GraphBuilder& g, Value* place, const RingEnd& end, int64_t places) {
  Value* token = g.add(end.first_token, place);
  Value* before = g.sub(token, g.like(token, static_cast<double>(places)));
  return g.select(g.le(place, end.last_place), token, before);
}

/// The bound is explicit, so that range analysis of the index finds it.
Value* place_in_ring(GraphBuilder& g, Value* token, int64_t places) {
  Value* place = g.sub(token, turn_of(g, token, places));
  place = g.max(place, g.like(place, 0));
  return g.min(place, g.like(place, static_cast<double>(places - 1)));
}

}  // namespace smelt
