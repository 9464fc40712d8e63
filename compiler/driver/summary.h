// Savings by fusion: kernel launches and moved bytes of each entry, before and after fusion.
#pragma once

#include "compiler/driver/compile.h"

namespace smelt {

/// Returns a row for every graph, in which the members *_before are set. Every primitive counts as a launch
/// that reads its operands and writes its results. Matmuls, views, leaves (such as inputs) and effects do not
/// count.
std::vector<EntrySummary> summarise_unfused(const Module& module);
/// Sets the members of each row other than `entry` and *_before, from the steps of the program's entry of
/// this name.
void summarise_program(const Program& program, std::vector<EntrySummary>& rows);

/// Returns the size of every state, in the order of program.states.
std::vector<StateSize> state_sizes(const Program& program);

/// Returns the bytes that one step moves at the symbols' bounds. For a kernel, these are the accessed
/// elements of its buffers; for a gemm, the three matrices; for any other step, the operands except scratch
/// memory.
int64_t step_bytes(const Program& program, const Step& step);

}  // namespace smelt
