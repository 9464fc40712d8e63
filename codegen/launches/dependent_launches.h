// Programmatic dependent launch (sm_90): marks kernels that wait for the preceding launches themselves
// (Kernel::waits), so that a GPU may start them before those launches have ended. All kernels are marked in
// the entries that run for a few tokens at a time, because there a launch takes as long as its work. A kernel
// waits before it touches any memory. So a kernel that has ended comes after all launches before it, and a
// kernel that waits for it waits for those, too.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Returns whether the entry keeps values computed for tokens (Role::cache), and so runs for a few tokens at
/// a time.
bool keeps_tokens(const Program& program, const PlanEntry& entry);

/// Runs on programs for a GPU, after the passes that make kernels.
bool mark_dependent_launches(Program& program);

}  // namespace smelt
