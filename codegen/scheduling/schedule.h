// Chooses how a target runs a kernel, as plain data: chunk sizes, tiles, what is kept between blocks; on a
// GPU also which threads share a row and what each has in registers.
#pragma once

#include "ir/kernel/kernel.h"
#include "ir/program/program.h"
#include "ir/target.h"
#include "runtime/base/dim.h"

namespace smelt {

/// Chunks of a kernel that accumulates partial sums: a number that the plan holds, so that its sums never
/// depend on how many threads or multiprocessors the machine has that runs it.
int64_t partial_splits(const Target& target);

/// Returns Schedule::sum_rows of a CPU's kernel with partial sums.
int64_t partial_sum_rows(const Kernel& kernel, const Symbols& symbols);

/// Fills kernel.schedule from its axes and instructions; bounds come from `symbols`.
void choose_schedule(Kernel& kernel, const Symbols& symbols, const Target& target);
/// The same, followed by the passes that a GPU's schedule requires (codegen/kernel_passes/kernel_passes.h).
void schedule(Kernel& kernel, const Symbols& symbols, const Target& target = {});

/// Gives a kernel that has a schedule for a GPU another one, and its tail what fits that.
void take_schedule(Kernel& kernel, const Schedule& schedule);

/// Changes a GPU's schedule so that its code needs fewer registers: less in flight, smaller blocks, narrower
/// vectors, larger teams. False where there is nothing left to change.
bool lighten_schedule(Kernel& kernel);

/// The gradients of an attention share memory by their templates for sm_90a: where one has another template,
/// so get the others. Numbers of the kernels that were changed.
std::vector<size_t> leave_shared_templates(Program& program);

}  // namespace smelt
