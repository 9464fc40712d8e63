// HIP C++ for GPUs of AMD as a language of the printers of thread IR. A wave has 32 or 64 lanes; the code
// works with groups of 32 lanes on both. The functions sm_... are those of codegen/hip/device/prelude.
#pragma once

#include "codegen/printers/language.h"

namespace smelt {

inline constexpr Language kHip{.difference = "sm_difference",
                               .to_int32 = "sm_to_int32",
                               .to_int64 = "sm_to_int64",
                               .shuffled = "sm_shuffle_xor",
                               .lanes_barrier = "sm_lanes_barrier",
                               .aligned = "__attribute__((aligned(16)))",
                               .by_value = "const"};

}  // namespace smelt
