// Ring positions of tokens (sliding-window KV cache). In a ring of n positions token t is at position t
// modulo n, where it replaces the earlier token at that position.
#pragma once

#include "ir/graph/builder.h"

namespace smelt {

/// State of rings after their last token, one ring per row (sequence). Both values are i32, in the shape of
/// ring_end's argument `tokens`.
struct RingEnd {
  Value* last_place;   // ring position of the row's last token
  Value* first_token;  // number of the token at ring position 0
};
/// Returns the ring ends of rows that have `tokens` tokens each (at least 1), in rings of `places` positions.
RingEnd ring_end(GraphBuilder& g, Value* tokens, int64_t places);

/// Returns the number of the token at each ring position `place`, below 0 if there is none yet. Requires: the
/// values of `end` have the shape of `place`.
Value* token_at(GraphBuilder& g, Value* place, const RingEnd& end, int64_t places);
/// Returns the ring position of each token. Requires: no token number is below 0.
Value* place_in_ring(GraphBuilder& g, Value* token, int64_t places);

}  // namespace smelt
