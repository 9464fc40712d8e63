// Kernels that the block which ends last of another one goes on with (Kernel::tail).
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Whether one block of any number of threads can run all of it soon: a few results, each of few numbers,
/// whatever the symbols are.
bool can_be_tail(const Kernel& kernel);
/// Gives a kernel's tail schedules for the kernel's own threads.
void fit_tails(Kernel& kernel);

}  // namespace smelt
