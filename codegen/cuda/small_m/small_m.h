// Small-M GEMMs: matmuls of a few rows with weights, as a decoder has for each new token. Their time is the
// time to read the weights once.
//
//   C[m,n] = alpha * sum_k A[m,k] B[k,n] + bias[n]        B is contiguous along k
//
// There are several kernels, for different numbers of rows and columns. Those of a step in order have sums
// that are chains (GemmStep::in_order). All others add up the terms of an element of C in the same order,
// which does not depend on the other rows. So a row of C has the same bits in every kernel, and for any
// number of rows.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/kernel/gemm_kernel.h"
#include "ir/program/program.h"

namespace smelt {

/// One kernel for small-M GEMMs.
struct SmallM {
  DType dtype = DType::bf16, result_dtype = DType::bf16;
  bool has_bias = false;
  int rows = 8;      // the largest number of rows of A that the kernel supports
  int weights = 16;  // columns of C per tile of a block
  int depth = 11;    // number of loads along k that a warp has in flight
  int64_t columns_below = std::numeric_limits<int64_t>::max();  // the kernel is for n < columns_below
  int64_t least_sums = 1;                                       // the kernel is for k >= least_sums
  int warps = 0;  // SmallMTiles::warps; not 0: sums are chains, and `depth` counts slots of a block

  /// Returns a name such as "smelt_small_m_08_16_bf16_f32_bias" for rows = 8, weights = 16, operands in bf16,
  /// results in f32, and a bias. Sorted by name, kernels with smaller `rows` come first, and among these,
  /// kernels with smaller `weights`. If sums are chains, it is a name such as
  /// "smelt_chain_few_08_16_4_bf16_f32", which comes before those of batched_gemm.h.
  std::string name() const;
};

/// Returns the kernels in the order of preference: the first one that supports the sizes is used.
std::vector<SmallM> small_m(DType dtype, DType result_dtype, bool has_bias);
/// Returns the kernels whose sums are chains.
std::vector<SmallM> small_m_chains(DType dtype, DType result_dtype);

/// The largest number of rows that any kernel supports.
constexpr int64_t kMostSmallM = 16;
/// Returns the tiles (ir/kernel/gemm_kernel.h) for a product of at most `rows` rows, n columns and k terms
/// per element. The columns consist of `parts` adjacent parts of equal size, and one call of the epilogue
/// reads the same column of each part. `in_order`: sums are chains. `packed`: weights are packed codes, whose
/// kernel for few rows has fewer registers.
SmallMTiles small_m_tiles(int64_t rows, int64_t n, int64_t k, int parts, bool in_order, bool packed = false);

/// Returns whether the operands have the layout and types that the kernels require. B must be a state that no
/// step of the entry writes, because the kernels begin to read B before the preceding steps have ended
/// (programmatic dependent launch).
bool multiplies_weights(const Program& program, const PlanEntry& entry, const GemmStep& step);
/// Returns the same for a matmul whose B is all that `packed` makes of codes, which the kernel reads instead.
bool multiplies_packed(const Program& program, const PlanEntry& entry, const GemmStep& step,
                       const DequantizeStep& packed);
/// Returns whether multiplies_weights is true, and some runs of the step may have at most kMostSmallM rows.
bool has_small_m(const Program& program, const PlanEntry& entry, const GemmStep& step);
/// Returns the kernels for a step of the entry, in the order of preference. Returns none if B is i8, or if
/// has_small_m is false.
std::vector<SmallM> small_m(const Program& program, const PlanEntry& entry, const GemmStep& step);

}  // namespace smelt
