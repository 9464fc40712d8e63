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

struct FewRows {
  DType dtype = DType::bf16, result_dtype = DType::bf16;
  bool has_bias = false;
  int rows = 8;                                                 // of A, at most
  int weights = 16;                                             // rows of B^T that a block has at a time
  int depth = 11;                                               // pieces along k that a warp is loading
  int64_t columns_below = std::numeric_limits<int64_t>::max();  // of C
  int64_t least_sums = 1;                                       // numbers that an element of C adds up

  /// "smelt_few_rows_08_16_bf16_f32_bias": rows and weights. In the order of their names, those for fewer
  /// come first.
  std::string name() const;
};

/// Returns the kernels in the order in which they are tried.
std::vector<FewRows> few_rows(DType dtype, DType result_dtype, bool has_bias);

/// The most rows of any kernel.
constexpr int64_t kMostFewRows = 16;
/// Returns the tiles of a kernel for a product of at most `rows` rows by n columns in `parts`, of sums of k
/// numbers (ir/kernel/gemm_kernel.h).
FewRowTiles few_row_tiles(int64_t rows, int64_t n, int64_t k, int parts);

/// Returns whether the step's rows may be few, and B has the layout of weights that the kernels read. They
/// read B before the preceding steps have ended, so B is a state that no step of the entry writes.
bool has_few_rows(const Program& program, const PlanEntry& entry, const GemmStep& step);
/// Returns the kernels for a step of the entry, those for fewer rows first; none where the step has none.
std::vector<FewRows> few_rows(const Program& program, const PlanEntry& entry, const GemmStep& step);

}  // namespace smelt
