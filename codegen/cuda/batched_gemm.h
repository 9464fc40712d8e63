// Smelt's kernels for matmuls of many small matrices, which a step may use instead of cuBLASLt's kernels. The
// batch has several axes with different strides, such as batch and heads of [batch, tokens, heads, head
// size]. An operand that the heads of a group share has the stride 0 along the axis of these heads.
//
//   C[o,i,m,n] = alpha * sum_k A[o,i,m,k] B[o,i,k,n]          o outer batch axes, i innermost batch axis
//
// Sums are chains (GemmStep::in_order). So these kernels also compute every step in order, with any number of
// batch axes, and with any pitches and addresses.
//
// The rows of C are contiguous. If a step's C has contiguous columns instead, the kernel computes the
// transposed product C^T = B^T A^T (runtime/plan/step_values.h).
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// One of these kernels: it serves all steps with the same types, layouts and number of batch axes.
struct BatchedGemm {
  DType dtype = DType::bf16, result_dtype = DType::bf16;
  bool a_by_k = true;     // A is contiguous along k, else along m
  bool b_by_k = false;    // B is contiguous along k, else along n
  size_t axes = 2;        // number of batch axes
  bool in_order = false;  // for steps in order, with C at any address
  bool by_pieces = true;  // copies 16 bytes of A and B at a time, which divide their pitches; else elements

  /// Returns "smelt_gemm_bf16_bf16_kn", for example, if A is contiguous along k and B along n. If there are
  /// not two batch axes, their number follows: "smelt_gemm_bf16_bf16_kn_3". For steps in order it begins with
  /// "smelt_chain_gemm". Sorted by name, kernels that copy pieces come first.
  std::string name() const;
};

/// Returns the kernels for a step in the order of preference: the first one that supports the sizes is used.
/// Returns none if the type of A and B is not bf16 or f16, if products are summed over a batch axis, or if
/// the step has a bias or adds to C. If the step is not in order, also returns none for fewer than two batch
/// axes, because cuBLASLt's kernels support one batch axis.
std::vector<BatchedGemm> batched_gemm(const GemmStep& step);

}  // namespace smelt
