// Products of a few rows with a large matrix, as one token a sequence makes them: time goes by reading the
// matrix. A BLAS packs it first, which reads and writes it once more, and pays for many rows alone.
#pragma once

#include <cstdint>

namespace smelt {

/// y[i,j] = alpha * sum_k x[i,k] w[j,k] + beta * y[i,j]; elements along k are contiguous.
struct SmallM {
  /// The most rows for which this is faster than a BLAS.
  static constexpr int64_t kMostRows = 32;

  int64_t rows = 0, columns = 0, k = 0;
  int64_t x_stride = 0, w_stride = 0;         // from row to row
  int64_t y_stride = 0, y_column_stride = 0;  // y may lie either way
  float alpha = 1;

  /// Sums do not depend on the number of threads. Where beta is 0, y is not read.
  void run(const float* x, const float* w, float* y, float beta) const;
  /// Computes the same with an i8 matrix, which is converted to f32 in registers: a quarter of the bytes are
  /// read.
  void run(const float* x, const int8_t* w, float* y, float beta) const;
};

}  // namespace smelt
