// The memory that a kernel's code accesses. A plan's validation checks the steps that launch the kernel
// against it.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Sets KernelCode::parameters and KernelCode::axes: the memory that the instructions of the kernel, its
/// prologue, its horizontally fused kernels and its tail access. A parameter of integers has bounds
/// (KernelParameter::indices) if computed indices or the bounds of segments depend on these integers, or if
/// the kernel writes integers that other kernels use so.
void describe_parameters(const Kernel& kernel, KernelCode& code);

}  // namespace smelt
