#include "codegen/cuda/batched_gemm.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/plan/step_values.h"

namespace smelt {

std::string BatchedGemm::name() const {
  return fmt::format("smelt_{}gemm_{}{}_{}_{}{}{}", in_order ? "chain_" : "", by_pieces ? "" : "odd_",
                     smelt::name(dtype), smelt::name(result_dtype), a_by_k ? "k" : "m", b_by_k ? "k" : "n",
                     axes == 2 ? "" : fmt::format("_{}", axes));
}

std::vector<BatchedGemm> batched_gemm(const GemmStep& step) {
  const bool sums = std::ranges::any_of(step.batch, &GemmStep::Batch::reduced);
  const bool half = step.dtype == DType::bf16 || step.dtype == DType::f16;
  if (sums || !half || step.bias || step.beta != 0 || (!step.in_order && step.batch.size() < 2)) return {};
  BatchedGemm gemm{.dtype = step.dtype,
                   .result_dtype = step.result_dtype,
                   .axes = step.batch.size(),
                   .in_order = step.in_order};
  const bool a_by_k = step.a.column_stride.is_one(), b_by_k = !step.b.column_stride.is_one();
  // A of the transposed matmul is B^T; an operand that is contiguous along k stays so.
  const bool transposed = is_seen_transposed(step);
  gemm.a_by_k = transposed ? b_by_k : a_by_k;
  gemm.b_by_k = transposed ? a_by_k : b_by_k;
  std::vector<BatchedGemm> all = {gemm};
  gemm.by_pieces = false;
  if (step.in_order) all.push_back(gemm);
  return all;
}

}  // namespace smelt
