// Verifier rules of single operations, in addition to the type rules (ir/ops/type_rules.h).
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Throws Error if a node violates a rule of its op that types do not express. For example, states must be
/// declared with the type that the node gives them, and a slice must be inside its operand.
void verify_contract(const Node& node);

}  // namespace smelt
