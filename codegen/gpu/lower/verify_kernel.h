// Verification of the thread IR of kernels.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt::gpu {

/// Returns the faults of the thread IR (verify.h) of a kernel, and of the kernels that are fused with it,
/// each after the kernel's name. The bodies of templates are not verified. Requires: the kernel has a
/// schedule for a GPU.
std::vector<std::string> verify_kernel(const Kernel& kernel);

}  // namespace smelt::gpu
