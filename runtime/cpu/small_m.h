// Products of a few rows with a large matrix, as in decoding, where each sequence has one row. Reading the
// matrix takes most of the time. A BLAS first copies the matrix to a packed form, which is only worthwhile
// for many rows.
#pragma once

#include <cstdint>

namespace smelt {

/// The product y[i,j] = alpha * sum_k x[i,k] w[j,k] + beta * y[i,j]. x is [rows, k], the matrix w is
/// [columns, k], and y is [rows, columns]. Elements along k are contiguous. Strides are in elements.
struct SmallM {
  /// Largest number of rows for which this is faster than a BLAS.
  static constexpr int64_t kMostRows = 32;

  int64_t rows = 0, columns = 0, k = 0;
  int64_t x_stride = 0, w_stride = 0;         // from row to row
  int64_t y_stride = 0, y_column_stride = 0;  // from row to row, and from column to column
  float alpha = 1;

  /// Computes y on OpenMP threads. Results do not depend on the number of threads. If beta is 0, y is not
  /// read.
  void run(const float* x, const float* w, float* y, float beta) const;
  /// Computes y for a matrix w of i8. Elements of w are converted to f32 in registers, so only a quarter of
  /// the bytes of an f32 matrix are read.
  void run(const float* x, const int8_t* w, float* y, float beta) const;
};

}  // namespace smelt
