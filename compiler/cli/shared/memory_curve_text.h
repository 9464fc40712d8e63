// The table of recomputation policies that a memory budget chooses from.
#pragma once

#include <optional>
#include <string>

#include "compiler/driver/compile.h"

namespace smelt::cli {

/// Every policy: its memory, what is kept and its share of the first one's, predicted time, FLOP computed
/// again;
/// `>` marks the one that a budget takes. Empty for no points.
std::string curve_text(const Compilation& compilation, std::optional<int64_t> budget);

}  // namespace smelt::cli
