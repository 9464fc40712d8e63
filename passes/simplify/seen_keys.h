// Which keys the queries of an attention see.
#pragma once

#include "ir/graph.h"

namespace smelt {

/// Whether `seen`, boolean [b,h,t,s], is true at s = t for every query, where there are as many keys as
/// queries: proven for comparisons of places (causal masks, windows) and their conjunctions, false wherever
/// unknown.
bool every_query_sees_a_key(const Value* seen);

}  // namespace smelt
