// Schedules of all kernels of a program, the schedules that a tuner measures, and the schedulers of each kind
// of target.
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

/// Chooses a schedule for every kernel of a lowered program (choose_schedule).
void schedule_kernels(Program& program, const Target& target);

/// Merges scheduled kernels that are equal except for names, and prefixes the name of each with its number:
/// k3_reduce2x1 is kernel 3, which reduces and has 2 inputs and 1 output.
void merge_kernels(Program& program);

// ---- schedule_candidates.cpp
// Alternative schedules of a GPU kernel, which a tuner measures.

/// Returns the schedules to measure for a scheduled kernel: its current schedule first, then the others that
/// may be faster. A chunk is the part of a kernel's work that one thread block does. All schedules have the
/// same number of chunks of partial sums, because buffers have one slice per chunk. All schedules store the
/// values of the same instructions instead of computing them again (Schedule::cached).
std::vector<Schedule> schedule_candidates(const Kernel& kernel, const Symbols& symbols);

// ---- kinds of targets
// Functions that `schedule` calls for each kind of target, and queries that these share.

void schedule_for_cpu(Kernel& kernel, const Symbols& symbols);
void schedule_attention(Kernel& kernel, const Symbols& symbols, const Target& target);
void schedule_gemm(Kernel& kernel, const Symbols& symbols, const Target& target);
/// Gives an attention kernel its next tiles in order of preference. Returns false if none are left.
bool take_lighter_tiles(Kernel& kernel);
void schedule_for_gpu(Kernel& kernel, const Symbols& symbols, const DeviceModel& device);

/// Returns whether the kernel has partial parameters (KernelParam::partial).
bool has_partials(const Kernel& kernel);
/// Returns the number of the kernel's axes of this kind.
int count_axes(const Kernel& kernel, AxisKind kind);
/// Returns whether chunks may divide the column axis itself (Schedule::flat). This requires that the column
/// axis is the only axis, and that no step of the computation needs a whole row.
bool can_be_flat(const Kernel& kernel);

}  // namespace smelt
