// CUDA C++ as a language of the printers of thread IR.
#pragma once

#include "codegen/printers/language.h"

namespace smelt {

inline constexpr Language kCuda{.difference = "__fsub_rn",
                                .to_int32 = "__float2int_rz",
                                .to_int64 = "__float2ll_rz",
                                .shuffled = "__shfl_xor_sync",
                                .lanes_barrier = "__syncwarp",
                                .aligned = "__align__(16)",
                                .by_value = "const __grid_constant__"};

}  // namespace smelt
