// Schedules for the kernels of a program.
#pragma once

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// Schedules all kernels that `lower` made.
void schedule_kernels(Program& program, const Target& target);

/// Merges scheduled kernels that are equal, and names each after its number and what it does (k3_reduce2x1).
void merge_kernels(Program& program);

}  // namespace smelt
