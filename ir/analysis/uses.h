// Uses of values, and splat constants: constants whose elements are all the same number.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

// ---- uses
// Uses of values. An output of the graph counts as a use.

/// Returns whether exactly one operand of one node reads the value, and no output of the graph does.
inline bool has_one_use(const Value& value) {
  return value.users().size() == 1 && !value.node()->graph().is_output(&value);
}

// ---- splat.cpp
// The numbers of splat constants.

/// Returns the number that all elements of `value` have, if `value` is a splat constant, or a broadcast or
/// reshape of a splat constant; nothing for other values.
std::optional<double> splat(const Value* value);
/// Returns the result of splat() if it is a whole number of at most INT32_MAX in magnitude; else nothing.
std::optional<int64_t> whole_splat(const Value* value);

}  // namespace smelt
