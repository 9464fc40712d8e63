// The kernels that round f32 states to their narrow copies when the host has written them; the same in every
// plan.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// "smelt_round_bf16" or "smelt_round_f16", for every type that a state has which is a copy of another.
std::vector<KernelCode> round_kernels(const std::vector<State>& states);

}  // namespace smelt
