// Matmuls of many small matrices whose batch has several strides, such as the heads of [B,T,heads,D] or
// groups of heads that share an operand (a stride of 0): the kernels of Smelt that can run them as variants
// of the library's.
//
//   C[o,i,m,n] = alpha * sum_k A[o,i,m,k] B[o,i,k,n]          o outer, i inner
//
// The rows of C are contiguous: steps with contiguous columns are transposed first
// (runtime/plan/step_values.h).
#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

struct BatchedGemm {
  DType dtype = DType::bf16, result_dtype = DType::bf16;
  bool a_by_k = true;   // A is contiguous along k, else along m
  bool b_by_k = false;  // B's along k, else those along n
  size_t axes = 2;      // of the batch

  /// "smelt_gemm_bf16_bf16_kn", "smelt_gemm_bf16_bf16_kn_3"
  std::string name() const;
};

/// Returns the kernel for a step. Nothing for another type, a sum over a batch axis, an addition to C, or a
/// batch that the library iterates over with one stride.
std::optional<BatchedGemm> batched_gemm(const GemmStep& step);

}  // namespace smelt
