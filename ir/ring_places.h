// Rows of tokens in rings. In a ring of n places token t is at place t modulo n, where it takes the place of
// the token before it that was there.
#pragma once

#include "ir/builder.h"

namespace smelt {

/// Where rows end in their rings, i32 of any shape.
struct RingEnd {
  Value* last_place;   // of the row's last token
  Value* first_token;  // the token that came to place 0 last
};
/// Of rows of so many tokens, at least one each, in rings of so many places.
RingEnd ring_end(GraphBuilder& g, Value* tokens, int64_t places);

/// The token at each place, which is below 0 where none has come yet; `end` has the shape of `place`.
Value* token_at(GraphBuilder& g, Value* place, const RingEnd& end, int64_t places);
/// The place of each token, which is none below 0.
Value* place_in_ring(GraphBuilder& g, Value* token, int64_t places);

}  // namespace smelt
