// Descriptions of runs and steps for error messages of GPU faults.
#pragma once

#include <string>

#include "runtime/cuda/resolve.h"

namespace smelt::cuda {

/// Returns the entry and the values of its symbols: "entry 'train_step' at B = 8, T = 48".
std::string describe_run(const ResolvedEntry& resolved);

/// Returns the text of describe_run, and after it a description of step number `step` of the entry: its kind,
/// the sizes of its data or the number of its thread blocks, the graph nodes that it was made from, and the
/// names, element counts and types of the buffers that it reads and writes.
std::string describe_launch(const Plan& plan, const ResolvedEntry& resolved, size_t step);

}  // namespace smelt::cuda
