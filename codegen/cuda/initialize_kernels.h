// The kernels that compute initial values in place; the same in every plan.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// "smelt_initialize_f32" or "smelt_initialize_bf16", for every such type of a state that begins with random
/// numbers and is no copy. They take rows of initial_rows (runtime/engine/weights/initialize.h) and give the
/// bits of initialize_state.
std::vector<KernelCode> initialize_kernels(const std::vector<State>& states);

}  // namespace smelt
