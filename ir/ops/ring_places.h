// Ring positions of tokens (sliding-window KV cache). In a ring of n positions token t is at position t
// modulo n, where it replaces the earlier token at that position.
#pragma once

#include "ir/graph/builder.h"

namespace smelt {

/// Ends of rows in their rings, i32 of any shape.
struct RingEnd {
  Value* last_place;   // position of the row's last token
  Value* first_token;  // the latest token at position 0
};
/// Returns the ring ends of rows of `tokens` tokens (each >= 1) in rings of `places` positions.
RingEnd ring_end(GraphBuilder& g, Value* tokens, int64_t places);

/// Returns the token at each position, below 0 if there is none yet; `end` has the shape of `place`.
Value* token_at(GraphBuilder& g, Value* place, const RingEnd& end, int64_t places);
/// Returns the ring position of each token. Requires: no token is below 0.
Value* place_in_ring(GraphBuilder& g, Value* token, int64_t places);

}  // namespace smelt
