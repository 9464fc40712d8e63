// Kernel IR -> thread IR of the function that the host launches. It runs one kernel, or kernels that are
// fused horizontally, and then the kernels of the last-block epilogue.
#pragma once

#include "codegen/gpu/thread_ir/function.h"
#include "ir/kernel/kernel.h"

namespace smelt::gpu {

/// Returns the function of a kernel without a template. Requires: the kernel has a schedule for a GPU.
Launch lower_launch(const Kernel& kernel);

}  // namespace smelt::gpu
