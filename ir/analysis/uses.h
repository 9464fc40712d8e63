// Uses of values, and constants that are one number.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

// ---- uses
// Uses of values, including graph outputs: an output reads its value after all nodes.

/// Returns whether the value has exactly one reading operand and is no output.
inline bool has_one_use(const Value& value) {
  return value.users().size() == 1 && !value.node()->graph().is_output(&value);
}

// ---- splat.cpp
// Splat constants: all elements are one number.

/// Returns the number of a splat constant (or of a broadcast of one), if it is one.
std::optional<double> splat(const Value* value);
/// The same if it is a whole number of 32 bits.
std::optional<int64_t> whole_splat(const Value* value);

}  // namespace smelt
