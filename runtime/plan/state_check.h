// Checks of the states of a plan, on which sessions rely.
#pragma once

#include <span>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

bool is_state(Role role);
/// Returns a size at the symbols' bounds, between 0 and the memory of any machine. `points`: values at which
/// sizes are extreme. Throws Error (invalid_file) that begins with `what`.
int64_t most_elements(const Symbols& symbols, std::span<const SymbolValues> points, const Dim& dim,
                      DType dtype, std::string_view what);

/// Checks roles, sizes, segments, sharding, copies and scales of all states. Throws Error (invalid_file).
void check_states(const Plan& plan, std::span<const SymbolValues> points);

}  // namespace smelt
