// f32 GEMMs on a CBLAS, with any batch axes. In each matrix, rows or columns must be contiguous.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

/// Sizes of C[m,n] = alpha * sum_k A[m,k] B[k,n] + beta * C[m,n], for all indices of the batch axes. Strides
/// are in elements.
struct GemmSizes {
  struct Matrix {
    int64_t row_stride = 0, column_stride = 0;
  };
  struct Batch {
    int64_t extent = 1, a = 0, b = 0, c = 0;  // strides of A, B and C
    bool reduced = false;                     // true: products along this axis are summed into one C; c is 0
  };
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  double alpha = 1, beta = 0;
  std::vector<Batch> batch = {};
};

/// A GEMM that is prepared once for its sizes. Batch axes are joined with each other, or with m, n or k, if
/// strides allow it, because fewer and larger calls of the BLAS are faster.
class PreparedGemm {
 public:
  PreparedGemm() = default;
  /// Throws Error if a BLAS has no call for the strides, or if a size or stride is 2^31 or more. `place`
  /// names the step in messages.
  PreparedGemm(const GemmSizes& sizes, const std::string& place);

  /// Computes C. If beta is 0, C is not read.
  void run(const float* a, const float* b, float* c) const;
  /// Returns the number of matrix products of one run.
  int64_t calls() const { return outer_count_ * inner_count_; }

 private:
  struct Offsets {
    int64_t a = 0, b = 0, c = 0;
  };
  static Offsets offsets(const std::vector<GemmSizes::Batch>& axes, int64_t index);
  bool in_parallel() const;
  void scale(float* c) const;
  void run_outer(const float* a, const float* b, float* c, int64_t outer) const;
  void call(const float* a, const float* b, float* c, float beta) const;
  void call_block(const float* a, const float* b, float* c, float beta, int64_t m, int64_t n) const;
  bool call_small_m(const float* a, const float* b, float* c, float beta) const;
  bool call_streamed(const float* a, const float* b, float* c, float beta) const;
  void call_vector(const float* a, const float* b, float* c, float beta) const;

  GemmSizes sizes_;                              // with joined batch axes
  std::vector<GemmSizes::Batch> outer_, inner_;  // batch axes: not reduced, and reduced
  int64_t outer_count_ = 0, inner_count_ = 0;
};

}  // namespace smelt
