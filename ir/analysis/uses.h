// Uses of values, graph outputs among them: an output reads its value after all nodes.
#pragma once

#include "ir/graph.h"

namespace smelt {

/// Whether one operand is all that reads the value: no other operand, and no output.
inline bool has_one_use(const Value& value) {
  return value.users().size() == 1 && !value.node()->graph().is_output(&value);
}

}  // namespace smelt
