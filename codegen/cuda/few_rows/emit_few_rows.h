// The text of a kernel that multiplies few rows by weights and goes on with each element, behind another
// kernel that every block runs first, where there is one (Kernel::before).
#pragma once

#include <string>

#include "ir/kernel.h"

namespace smelt {

/// Of a kernel whose `gemm` has tiles for few rows, and a schedule.
std::string emit_few_rows(const Kernel& kernel);
/// Of A, and of weights that are no bytes.
DType few_rows_dtype(const Kernel& kernel);
/// Of a block: the template's, and A where the kernel before leaves it.
int64_t few_rows_kernel_bytes(const GemmKernel& gemm, int64_t most_rows);

}  // namespace smelt
