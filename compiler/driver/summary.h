// Savings of fusion: launches and bytes moved, before and after.
#pragma once

#include "compiler/driver/compile.h"

namespace smelt {

/// Before fusion every primitive is a launch that reads its operands and writes its results, at the symbols'
/// bounds; views and leaves are free. Fills the `before` half of a row for every graph.
std::vector<EntrySummary> summarise_unfused(const Module& module);
/// Fills the `after` half from the steps of each entry.
void summarise_program(const Program& program, std::vector<EntrySummary>& rows);

/// Returns the size of every state of the program, in its order, at the bounds.
std::vector<StateSize> state_sizes(const Program& program);

/// Bytes that one step moves at the bounds: what a kernel's parameters hold, or a gemm's three matrices.
int64_t step_bytes(const Program& program, const Step& step);

}  // namespace smelt
