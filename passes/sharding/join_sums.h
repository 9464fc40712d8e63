// join_sums: small sums over the same ranks that one `pack` reads become one sum of them behind each other.
//
// Ranks that share sequences have addends of the gradients of every norm and bias. Each sum alone takes as
// long as one of a megabyte does. Contract: operands of a pack do not depend on each other's sums; elements
// keep their addends, so no value changes.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct JoinSumsOptions {
  int64_t most_bytes = 1 << 20;  // of a sum that is joined
};
bool join_sums(Graph& graph, const JoinSumsOptions& options);

}  // namespace smelt
