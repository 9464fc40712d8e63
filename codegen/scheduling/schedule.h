// Choice of a kernel's schedule, which is plain data (Schedule in ir/kernel/kernel.h). A schedule has chunk
// sizes, tiles, and the values that are stored because later code of the kernel reads them again. On a GPU it
// also has the number of threads that share a row, and the part of the row that each thread has in registers.
#pragma once

#include "ir/kernel/kernel.h"
#include "ir/program/program.h"
#include "ir/target.h"
#include "runtime/base/dim.h"

namespace smelt {

/// Returns the number of chunks of a kernel that accumulates partial sums. The number is stored in the plan,
/// so the order of additions does not depend on the number of threads or multiprocessors of the machine that
/// runs the plan.
int64_t partial_splits(const Target& target);

/// Returns Schedule::sum_rows for a CPU kernel with partial sums: the number of rows after which f32 sums are
/// added to f64 sums. 0: there are no f64 sums.
int64_t partial_sum_rows(const Kernel& kernel, const Symbols& symbols);

/// Sets kernel.schedule, based on the kernel's axes and instructions and on the bounds of `symbols`.
void choose_schedule(Kernel& kernel, const Symbols& symbols, const Target& target);
/// Calls choose_schedule and then, for a GPU kernel without a template, legalize_for_gpu
/// (codegen/kernel_passes/kernel_passes.h), which makes the changes of the kernel that follow from the
/// schedule.
void schedule(Kernel& kernel, const Symbols& symbols, const Target& target = {});

/// Replaces the schedule of a scheduled GPU kernel, and adapts the schedules of the small kernels that its
/// last block runs (Kernel::tail).
void take_schedule(Kernel& kernel, const Schedule& schedule);

/// Changes the schedule of a GPU kernel so that its code needs fewer registers: fewer loads in flight,
/// smaller thread blocks, narrower vectors, or more threads per row. An attention kernel gets its next tiles
/// in the order of preference (take_lighter_tiles). Returns false if no lighter schedule is left.
bool lighten_schedule(Kernel& kernel);

/// Makes the kernels of each attention gradient use templates that fit together. The kernels of one gradient
/// exchange results in memory, so either all or none of them must use templates for sm_90a. If
/// lighten_schedule has given one of the kernels another template, this function changes the templates of the
/// other kernels, too. Returns the numbers of the changed kernels.
std::vector<size_t> leave_shared_templates(Program& program);

}  // namespace smelt
