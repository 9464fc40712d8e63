// Last-block epilogues: kernels that the last block of another kernel runs (Kernel::tail).
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Returns whether one block of any number of threads can run the whole kernel quickly: a few results, each
/// of few numbers, at any size of the symbols.
bool can_be_tail(const Kernel& kernel);
/// Gives a kernel's tail schedules for the kernel's own threads.
void fit_tails(Kernel& kernel);

}  // namespace smelt
