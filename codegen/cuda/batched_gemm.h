// Matmuls of many small matrices whose batch has several strides, such as the heads of [B,T,heads,D] or
// groups of heads that share an operand (a stride of 0): which kernel of ours can do them beside the library.
//
//   C[o,i,m,n] = alpha * sum_k A[o,i,m,k] B[o,i,k,n]          o outer, i inner
//
// The rows of C lie together: steps whose columns do are seen transposed (runtime/plan/step_values.h).
#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

struct BatchedGemm {
  DType dtype = DType::bf16, result_dtype = DType::bf16;
  bool a_by_k = true;   // A's neighbours along k lie together, else those along m
  bool b_by_k = false;  // B's along k, else those along n
  size_t axes = 2;      // of the batch

  /// "smelt_gemm_bf16_bf16_kn", "smelt_gemm_bf16_bf16_kn_3"
  std::string name() const;
};

/// The kernel for a step; nothing where it has none: another type, a sum over a batch axis, an addition to C,
/// or a batch that the library walks with one stride.
std::optional<BatchedGemm> batched_gemm(const GemmStep& step);

}  // namespace smelt
