// Which keys the queries of an attention see.
#pragma once

#include "ir/graph.h"

namespace smelt {

/// Whether `seen`, boolean [b,h,t,s], is true at s = t for every query, where there are as many keys as
/// queries: proven for comparisons of places (causal masks, windows) and their conjunctions, false wherever
/// unknown.
bool every_query_sees_a_key(const Value* seen);

/// Whether a score of the attention may become -inf: by a constant of the body, or by numbers that it reads.
bool may_mask(const Node& attention);
/// Whether all scores of a query may be -inf: where a mask is not proven to leave each query a key, and its
/// -inf comes from a constant, an input, a logarithm or a quotient. Weights, products and sums count as
/// finite.
bool may_see_no_key(const Node& attention);

}  // namespace smelt
