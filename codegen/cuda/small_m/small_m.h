// Small-M GEMMs: matmuls of few rows by weights, as a decoder has for each new token. Their time is the time
// to read the weights once.
//
//   C[m,n] = alpha * sum_k A[m,k] B[k,n] + bias[n]        B is contiguous along k
//
// The kernels differ in the largest number of rows that they take. All add up along k in the same order, and
// a row's sums do not depend on the other rows. So a row has the same bits alone and among any others, in
// every kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/kernel/gemm_kernel.h"
#include "ir/program/program.h"

namespace smelt {

struct SmallM {
  DType dtype = DType::bf16, result_dtype = DType::bf16;
  bool has_bias = false;
  int rows = 8;                                                 // of A, at most
  int weights = 16;                                             // columns of C per tile of a block
  int depth = 11;                                               // pieces along k that a warp loads ahead
  int64_t columns_below = std::numeric_limits<int64_t>::max();  // of C
  int64_t least_sums = 1;                                       // numbers that an element of C adds up

  /// Returns a name such as "smelt_small_m_08_16_bf16_f32_bias" for 8 rows and 16 weights. In the order of
  /// names, kernels for fewer rows come first, then kernels with fewer weights.
  std::string name() const;
};

/// Returns the kernels in the order in which they are tried.
std::vector<SmallM> small_m(DType dtype, DType result_dtype, bool has_bias);

/// The most rows of any kernel.
constexpr int64_t kMostSmallM = 16;
/// Returns the tiles of a kernel for a product of at most `rows` rows by n columns in `parts`, of sums of k
/// numbers (ir/kernel/gemm_kernel.h).
SmallMTiles small_m_tiles(int64_t rows, int64_t n, int64_t k, int parts);

/// Returns whether the step's rows may be few, and its operands have the layout and types of the kernels. B
/// must be a state that no step of the entry writes, because the kernels read B before the preceding steps
/// have ended.
bool has_small_m(const Program& program, const PlanEntry& entry, const GemmStep& step);
/// Returns the kernels for a step of the entry, those for fewer rows first. Returns none if B is i8, or if
/// has_small_m is false.
std::vector<SmallM> small_m(const Program& program, const PlanEntry& entry, const GemmStep& step);

}  // namespace smelt
