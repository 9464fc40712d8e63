// The text of a kernel for a small-M GEMM with weights and an epilogue per element. Where there is a prologue
// (Kernel::before), every block runs it first.
#pragma once

#include <string>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Returns the text of a kernel whose `gemm` has tiles for few rows, and a schedule.
std::string emit_few_rows(const Kernel& kernel);
/// Returns the type of A, and of weights that are not bytes.
DType few_rows_dtype(const Kernel& kernel);
/// Returns the shared memory of a block: the template's, and A where the prologue leaves it there.
int64_t few_rows_kernel_bytes(const GemmKernel& gemm, int64_t most_rows);

}  // namespace smelt
