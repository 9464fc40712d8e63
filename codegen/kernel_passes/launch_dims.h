// The sizes that a kernel's code needs at every launch.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// The kernel's Dims that are not constant, in order of first use: what a plan holds as KernelCode::dims.
std::vector<Dim> launch_dims(const Kernel& kernel);

}  // namespace smelt
