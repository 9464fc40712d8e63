// The requirements of a kernel's code on the steps that launch it. A plan is checked against them.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Sets KernelCode::parameters and axes: the memory that the instructions of the kernel, and of its tail,
/// touch. Integers have indices where a computed index, the bounds of a segment or integers that are written
/// depend on them.
void describe_parameters(const Kernel& kernel, KernelCode& code);

}  // namespace smelt
