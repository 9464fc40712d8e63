// Matmuls of few rows by weights, as a decoder has one for each new token: their time is that of reading the
// weights once.
//
//   C[m,n] = alpha * sum_k A[m,k] B[k,n] + bias[n]        B's neighbours along k lie together
//
// The kernels differ in the rows that they take at most. All add up along k in the same order, and a row's
// sums know nothing of the other rows: so a row has the same bits alone and among any others, whichever
// kernel does it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/gemm_kernel.h"
#include "ir/program.h"

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

/// In the order in which they are tried.
std::vector<FewRows> few_rows(DType dtype, DType result_dtype, bool has_bias);

/// Rows that no kernel has more of.
constexpr int64_t kMostFewRows = 16;
/// What a kernel of its own takes for a product of that many rows, at most, by n columns in `parts`, of sums
/// of k numbers (ir/gemm_kernel.h).
FewRowTiles few_row_tiles(int64_t rows, int64_t n, int64_t k, int parts);

/// Whether the step's rows may be few, and B is weights as the kernels read them. They do before the steps in
/// front of them have ended, so weights are a state that no step of the entry writes.
bool has_few_rows(const Program& program, const PlanEntry& entry, const GemmStep& step);
/// The kernels for a step of the entry, those for fewer rows first; none where it has none.
std::vector<FewRows> few_rows(const Program& program, const PlanEntry& entry, const GemmStep& step);

}  // namespace smelt
