// That the states of a plan are what sessions take them for.
#pragma once

#include <span>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

bool is_state(Role role);
/// A size at the symbols' bounds, between 0 and what any machine has. `points`: values at which sizes are
/// extreme. Throws Error (invalid_file) that begins with `what`.
int64_t most_elements(const Symbols& symbols, std::span<const SymbolValues> points, const Dim& dim,
                      DType dtype, std::string_view what);

/// Roles, sizes, segments, parts of ranks, copies and scales of all states. Throws Error (invalid_file).
void check_states(const Plan& plan, std::span<const SymbolValues> points);

}  // namespace smelt
