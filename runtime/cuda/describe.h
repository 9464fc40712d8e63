// Describes runs and steps for the message of a fault.
#pragma once

#include <string>

#include "runtime/cuda/resolve.h"

namespace smelt::cuda {

/// "entry 'train_step' at B = 8, T = 48"
std::string describe_run(const ResolvedEntry& resolved);

/// Describes the run and one of its steps: its number, kind, the names of its nodes, its launches, and the
/// buffers that it reads and writes with their types and sizes.
std::string describe_launch(const Plan& plan, const ResolvedEntry& resolved, size_t step);

}  // namespace smelt::cuda
