// What a kernel's code expects of the steps that launch it: the promise that a plan is checked against.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Sets KernelCode::parameters and axes: what the instructions of the kernel, and of its tail, touch.
/// Integers have indices where a computed index, the bounds of a segment or integers that are written depend
/// on them.
void describe_parameters(const Kernel& kernel, KernelCode& code);

}  // namespace smelt
