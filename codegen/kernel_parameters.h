// Description of the memory that a kernel's code accesses. The validation of a plan uses it to check the
// arguments of the steps that launch the kernel.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Sets KernelCode::parameters, which has the elements of memory that each parameter's accesses touch, and
/// KernelCode::axes, the extents of the loops around these accesses. Covers the kernel, its prologue, its
/// horizontally fused kernels and its tail. A parameter of integers has bounds (KernelParameter::indices) if
/// the kernel computes indices or the bounds of segments from these integers, or if it writes integers that
/// other kernels use in this way.
void describe_parameters(const Kernel& kernel, KernelCode& code);

}  // namespace smelt
