// What follows from a kernel's schedule on a GPU, spelled out in the kernel: after these passes the printer
// of CUDA has nothing left to decide.
#pragma once

#include <span>
#include <string_view>

#include "ir/kernel.h"

namespace smelt {

/// A pass over a kernel that has a schedule, by the name that file tests and `smelt opt` know it by.
struct KernelPass {
  std::string_view name, description;
  void (*run)(Kernel& kernel);
};

/// All of them, in the order in which legalize_for_gpu runs them.
std::span<const KernelPass> gpu_kernel_passes();

/// Decides anew, for a kernel and its tail: what an earlier schedule had entailed goes first.
void legalize_for_gpu(Kernel& kernel);

}  // namespace smelt
