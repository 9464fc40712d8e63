// The CUDA text of a matmul kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

// ---- emit_gemm.cpp
// The text of a matmul kernel, and the arguments of its launch.

/// Compute capability of the GPU whose instructions the template has.
inline constexpr int kGemmCapability = 90;

/// Returns the text of a kernel that has a `gemm` and a schedule.
std::string emit_gemm(const Kernel& kernel);
std::vector<TensorMap> gemm_maps(const Kernel& kernel);

// ---- print_gemm_body.cpp
// The epilogue of a matmul as the types and functions that its template calls (gemm_text.h).

/// The number of columns that a lane has concurrently.
inline constexpr int kGemmVector = 8;

/// Loads that run ahead of the body: whole, aligned vectors of the kernel, which has its schedule.
std::vector<int> early_gemm_loads(const Kernel& kernel);

/// Returns the instructions of `kernel`, which has a `gemm`, that sum columns.
std::vector<int> gemm_sums(const Kernel& kernel);
std::string print_gemm_body(const Kernel& kernel);

}  // namespace smelt
