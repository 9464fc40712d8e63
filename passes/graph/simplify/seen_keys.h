// Analysis of the keys that the queries of an attention see. A query does not see a key if the attention's
// body (score_mod) sets their score to -inf.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Returns true if it is proven that each query t sees the key s = t. `seen` is a boolean mask [..., t, s],
/// true where query t sees key s. The proof is possible for comparisons of positions (causal masks, windows)
/// and their conjunctions, if there are as many keys as queries; other cases return false.
bool every_query_sees_a_key(const Value* seen);

/// Returns whether a score may become -inf: true if the attention's body has a constant -inf, or a float
/// argument, because the argument may be -inf.
bool may_mask(const Node& attention);
/// Returns whether all scores of some query may be -inf. Returns false if the mask is proven to leave each
/// query a key, or if no -inf reaches the scores from a constant, an input, a logarithm or a quotient.
/// Parameters of the model, and products and sums of finite numbers, count as finite.
bool may_see_no_key(const Node& attention);

}  // namespace smelt
