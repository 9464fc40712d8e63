// The template for matmuls of many small matrices (batched_gemm.h) on the tensor cores.
#pragma once

#include "codegen/cuda/batched_gemm.h"

namespace smelt {

KernelCode batched_gemm_kernel(const BatchedGemm& gemm);

}  // namespace smelt
