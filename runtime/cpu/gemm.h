// GEMMs on a CBLAS, for any strides that have a 1 in each matrix and any batch axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

/// C[m,n] = alpha * sum_k A[m,k] B[k,n] + beta * C[m,n], for all indices of the batch axes.
struct GemmSizes {
  struct Matrix {
    int64_t row_stride = 0, column_stride = 0;
  };
  struct Batch {
    int64_t extent = 1, a = 0, b = 0, c = 0;  // strides
    bool reduced = false;                     // adds into the same C; c is 0
  };
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  double alpha = 1, beta = 0;
  std::vector<Batch> batch = {};
};

/// A GEMM prepared once for its sizes: where axes collapse, it makes fewer and larger calls.
class PreparedGemm {
 public:
  PreparedGemm() = default;
  /// Throws Error with `place` for strides that a BLAS has no call for and for sizes of 2^31 and more.
  PreparedGemm(const GemmSizes& sizes, const std::string& place);

  void run(const float* a, const float* b, float* c) const;
  /// Returns the number of calls of the BLAS.
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
  void call_vector(const float* a, const float* b, float* c, float beta) const;

  GemmSizes sizes_;                              // collapsed
  std::vector<GemmSizes::Batch> outer_, inner_;  // those with a C of their own, and those summed into one C
  int64_t outer_count_ = 0, inner_count_ = 0;
};

}  // namespace smelt
