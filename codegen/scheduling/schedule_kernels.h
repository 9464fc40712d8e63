// The kernels of a program get their schedules.
#pragma once

#include "ir/program.h"
#include "ir/target.h"

namespace smelt {

/// Schedules all kernels that `lower` made. Those that are equal then become one; each is named after its
/// number and what it does (k3_reduce2x1).
void schedule_kernels(Program& program, const Target& target);

}  // namespace smelt
