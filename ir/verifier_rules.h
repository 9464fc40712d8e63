// What the verifier requires of single operations beyond their types.
#pragma once

#include "ir/graph.h"

namespace smelt {

/// Throws Error where a node breaks its op's contract: attributes, declared states, segments.
void verify_contract(const Node& node);

}  // namespace smelt
