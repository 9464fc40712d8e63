// Products of many small matrices whose batch has two strides, such as the heads of [B,T,heads,D]: the name
// and the arguments of the built-in kernel for them, agreed on by the compiler, which puts it into the plan,
// and the executor, which measures it against the library.
//
//   C[o,i,m,n] = alpha * sum_k A[o,i,m,k] B[o,i,k,n]          o outer, i inner
//
// The rows of C lie together. All addresses, pitches and strides are multiples of 16 bytes.
#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

struct BatchedGemm {
  DType dtype = DType::bf16, result_dtype = DType::bf16;
  bool a_by_k = true;    // A's neighbours along k lie together, else those along m
  bool b_by_k = false;   // B's along k, else those along n
  bool swapped = false;  // C^T = B^T A^T, since C's columns lie together

  /// "smelt_gemm_bf16_bf16_kn"
  std::string name() const;
};

/// The kernel for a step; nothing where it has none: another type, a sum over a batch axis, an addition to C,
/// or a batch that the library walks with one stride.
std::optional<BatchedGemm> batched_gemm(const GemmStep& step);

/// What it is launched with: a tile of the result a block of threads; shared memory for as many tiles along k
/// of both factors as there are, at most two; pitches below a bound that keeps a tile's places in 32 bits.
inline constexpr int kBatchedGemmTile = 64, kBatchedGemmThreads = 128, kBatchedGemmStage = 16 << 10;
inline constexpr int64_t kBatchedGemmPitches = int64_t{1} << 24;

}  // namespace smelt
