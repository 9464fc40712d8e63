// The epilogue of a matmul as the types and functions that its template calls (gemm_text.h).
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// The number of columns that a lane has concurrently.
inline constexpr int kGemmVector = 8;

/// Loads that run ahead of the body: whole, aligned vectors of the kernel, which has its schedule.
std::vector<int> early_gemm_loads(const Kernel& kernel);

/// Returns the instructions of `kernel`, which has a `gemm`, that sum columns.
std::vector<int> gemm_sums(const Kernel& kernel);
std::string print_gemm_body(const Kernel& kernel);

}  // namespace smelt
