// GEMMs of matrices of i8 with sums of i32, which are exact: every processor has the same bits.
#pragma once

#include <cstdint>

#include "runtime/cpu/gemm.h"

namespace smelt {

/// C[m,n] = sum_k A[m,k] B[k,n] + beta * C[m,n], for all indices of the batch axes. Sums wrap around, which
/// takes more than 2^17 terms. Fastest if elements along k are contiguous in both operands, as activations
/// and weights are, and columns of C are.
class ByteGemm {
 public:
  /// Requires: alpha is 1, and beta is 0 or 1.
  explicit ByteGemm(GemmSizes sizes) : sizes_(std::move(sizes)) {}
  /// Computes C on OpenMP threads. If beta is 0, C is not read.
  void run(const int8_t* a, const int8_t* b, int32_t* c) const;

 private:
  void run_batch(size_t axis, const int8_t* a, const int8_t* b, int32_t* c, bool adds) const;
  void multiply(const int8_t* a, const int8_t* b, int32_t* c, bool adds) const;

  GemmSizes sizes_;
};

}  // namespace smelt
