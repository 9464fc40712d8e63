// Products of tens to hundreds of rows with a large matrix, such as the weights in inference. A BLAS first
// copies the matrix to a packed form, which takes a large part of the time if there are few rows. Here only
// the rows are packed, and the matrix is read once, in place.
#pragma once

#include <cstdint>

namespace smelt {

/// The product y[i,j] = alpha * sum_k x[i,k] w[j,k] + beta * y[i,j]. x is [rows, k], the matrix w is
/// [columns, k], and y is [rows, columns]. Elements along k are contiguous. Strides are in elements.
/// Requires: y_stride or y_column_stride is 1.
struct StreamedGemm {
  /// Largest number of rows for which this is faster than a BLAS.
  static constexpr int64_t kMostRows = 512;

  int64_t rows = 0, columns = 0, k = 0;
  int64_t x_stride = 0, w_stride = 0;         // from row to row
  int64_t y_stride = 0, y_column_stride = 0;  // from row to row, and from column to column
  float alpha = 1;

  /// Returns whether this processor has vector instructions that `run` is written for.
  static bool is_supported();
  /// Returns whether `run` is expected to be faster than a BLAS for these sizes.
  bool is_worthwhile() const;
  /// Computes y on OpenMP threads. Results do not depend on the number of threads, and those of a row do not
  /// depend on other rows. If beta is 0, y is not read. Requires: is_supported().
  void run(const float* x, const float* w, float* y, float beta) const;
};

}  // namespace smelt
