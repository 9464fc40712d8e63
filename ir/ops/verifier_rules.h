// Verifier rules of single operations in addition to their types.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Throws Error if a node violates its op's contract: attributes, declared states, segments.
void verify_contract(const Node& node);

}  // namespace smelt
