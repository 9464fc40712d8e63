// Description of the memory that a kernel's code accesses. The validation of a plan uses it to check the
// arguments of the steps that launch the kernel.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Sets two members of `code`. KernelCode::parameters has the elements of memory that each parameter's
/// accesses touch. KernelCode::axes has the extents of the loops around these accesses. The accesses are
/// those of the kernel, its prologue, its horizontally fused kernels and its last-block epilogue. A parameter
/// of integers has bounds (KernelParameter::indices) if this or another kernel computes indices or the bounds
/// of segments from these integers.
void describe_parameters(const Kernel& kernel, KernelCode& code);

}  // namespace smelt
