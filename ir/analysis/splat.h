// Splat constants: all elements are one number.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the number of a splat constant (or of a broadcast of one), if it is one.
std::optional<double> splat(const Value* value);
/// The same if it is a whole number of 32 bits.
std::optional<int64_t> whole_splat(const Value* value);

}  // namespace smelt
