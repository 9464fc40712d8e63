// Analysis of the keys that the queries of an attention see.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Returns whether `seen`, boolean [b,h,t,s], is true at s = t for every query, if there are as many keys as
/// queries. This is proven for comparisons of positions (causal masks, windows) and their conjunctions;
/// unknown cases return false.
bool every_query_sees_a_key(const Value* seen);

/// Returns whether a score of the attention may become -inf, by a constant of the body or by an operand's
/// values.
bool may_mask(const Node& attention);
/// Returns whether all scores of a query may be -inf: a mask is not proven to leave each query a key, and its
/// -inf comes from a constant, an input, a logarithm or a quotient. Weights, products and sums count as
/// finite.
bool may_see_no_key(const Node& attention);

}  // namespace smelt
