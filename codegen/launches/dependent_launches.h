// Kernels that wait by themselves for the launches in front of theirs (Kernel::waits), so that a GPU may
// begin theirs before those have ended (programmatic dependent launches of sm_90): all of the entries that
// run for a few tokens at a time, where starting a kernel takes as long as its work. A kernel waits before it
// touches any memory, so one that has ended comes after all in front of it, and whoever waits for it waits
// for those, too.
#pragma once

#include "ir/program.h"

namespace smelt {

/// Whether the entry keeps what it has computed for tokens (Role::cache), and so is run for a few at a time.
bool keeps_tokens(const Program& program, const PlanEntry& entry);

/// For programs that a GPU will run, after the passes that make kernels.
bool mark_dependent_launches(Program& program);

}  // namespace smelt
