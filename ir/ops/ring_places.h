// Ring positions of tokens (sliding-window KV cache). In a ring of n positions token t is at position t
// modulo n, where it replaces the earlier token at that position.
#pragma once

#include "ir/graph/builder.h"

namespace smelt {

/// The newest token's ring position, and the token at ring position 0, for one ring per row (sequence). Both
/// values are i32 and have the shape of the argument `tokens` of ring_end.
struct RingEnd {
  Value* last_place;   // ring position of the row's last token
  Value* first_token;  // number of the token at ring position 0
};
/// Returns the RingEnd of rows. `tokens`: the number of tokens of each row so far, at least 1. `places`: the
/// number of positions per ring.
RingEnd ring_end(GraphBuilder& g, Value* tokens, int64_t places);

/// Returns the number of the token at each ring position `place`. The number is below 0 if no token is there
/// yet. `places`: the number of positions per ring. Requires: the values of `end` have the shape of `place`.
Value* token_at(GraphBuilder& g, Value* place, const RingEnd& end, int64_t places);
/// Returns the ring position of each token. Requires: no token number is below 0.
Value* place_in_ring(GraphBuilder& g, Value* token, int64_t places);

}  // namespace smelt
