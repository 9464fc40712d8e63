// Uses of values, including graph outputs: an output reads its value after all nodes.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Returns whether the value has exactly one reading operand and is no output.
inline bool has_one_use(const Value& value) {
  return value.users().size() == 1 && !value.node()->graph().is_output(&value);
}

}  // namespace smelt
