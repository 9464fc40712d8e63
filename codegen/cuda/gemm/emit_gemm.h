// The text of a matmul kernel, and the arguments of its launch.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Compute capability of the GPU whose instructions the template has.
inline constexpr int kGemmCapability = 90;

/// Returns the text of a kernel that has a `gemm` and a schedule.
std::string emit_gemm(const Kernel& kernel);
std::vector<TensorMap> gemm_maps(const Kernel& kernel);

}  // namespace smelt
