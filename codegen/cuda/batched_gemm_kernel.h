// The template for matmuls of many small matrices (batched_gemm.h) on the tensor cores.
#pragma once

#include <vector>

#include "ir/program.h"

namespace smelt {

/// One kernel for every kind of such a matmul in the program.
std::vector<KernelCode> batched_gemm_kernels(const Program& program);

}  // namespace smelt
