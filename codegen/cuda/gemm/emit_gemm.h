// The text of a kernel that multiplies, and what a launch gives it.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace smelt {

/// Of the GPU whose instructions the template has.
inline constexpr int kGemmCapability = 90;

/// Of a kernel that has a `gemm` and a schedule.
std::string emit_gemm(const Kernel& kernel);
std::vector<TensorMap> gemm_maps(const Kernel& kernel);

}  // namespace smelt
