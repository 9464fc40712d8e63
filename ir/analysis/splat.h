// Constants that hold one number everywhere.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace smelt {

/// The one value of a constant (or of a broadcast of one), if it has one.
std::optional<double> splat(const Value* value);
/// The same where it is a whole number of 32 bits.
std::optional<int64_t> whole_splat(const Value* value);

}  // namespace smelt
