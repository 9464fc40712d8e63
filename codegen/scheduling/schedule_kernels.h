// Schedules of kernels: what one is chosen from, and for which targets.
#pragma once

#include <vector>

#include "codegen/scheduling/schedule.h"
#include "ir/kernel/kernel.h"
#include "ir/program/program.h"
#include "ir/target.h"
#include "runtime/base/dim.h"

namespace smelt {

// ---- schedule_kernels.cpp
// Schedules for the kernels of a program.

/// Schedules all kernels that `lower` made.
void schedule_kernels(Program& program, const Target& target);

/// Merges scheduled kernels that are equal, and names each after its number and what it does (k3_reduce2x1).
void merge_kernels(Program& program);

// ---- schedule_candidates.cpp
// Other schedules for a kernel on a GPU, for a tuner to measure.

/// Returns the schedules to measure for a scheduled kernel: its own schedule first, then all others worth a
/// try. The chunks of partial sums do not change (buffers hold one slice each), nor do the values that are
/// kept between blocks.
std::vector<Schedule> schedule_candidates(const Kernel& kernel, const Symbols& symbols);

// ---- kinds of targets
// Functions that `schedule` calls for each kind of target, and queries that these share.

void schedule_for_cpu(Kernel& kernel, const Symbols& symbols);
void schedule_attention(Kernel& kernel, const Symbols& symbols, const Target& target);
void schedule_gemm(Kernel& kernel, const Symbols& symbols, const Target& target);
/// The next tiles in order of preference; false where there are none left.
bool take_lighter_tiles(Kernel& kernel);
void schedule_for_gpu(Kernel& kernel, const Symbols& symbols, const DeviceModel& device);

bool has_partials(const Kernel& kernel);
int count_axes(const Kernel& kernel, AxisKind kind);
/// The parallel range is the one column axis: nothing needs a whole row in one place.
bool can_be_flat(const Kernel& kernel);

}  // namespace smelt
