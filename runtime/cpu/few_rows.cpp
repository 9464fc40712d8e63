#include "runtime/cpu/few_rows.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr int kLanes = 16, kRows = 4, kColumns = 4;  // of a block of y that is summed in registers
constexpr int64_t kColumnsOfWork = 32;               // of y that a thread takes at once
constexpr int64_t kShared = 1 << 16;                 // numbers of w from which on threads pay

/// Sums of a lane each, which the compiler keeps in the widest registers that it may use.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

/// In pairs, since one sum after the other would take as long as the products of a short row.
[[gnu::always_inline]] inline float sum_of(const Lanes* lanes) {
  const Lanes& x = *lanes;
  const auto eight = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto four =
      __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

using Bytes = int8_t __attribute__((vector_size(kLanes), aligned(1), may_alias));
using Integers = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));

[[gnu::always_inline]] inline void load(const float* from, Lanes* to) {
  *to = *reinterpret_cast<const Lanes*>(from);
}

/// By way of 32 bits, for which there are instructions.
[[gnu::always_inline]] inline void load(const int8_t* from, Lanes* to) {
  const Bytes bytes = *reinterpret_cast<const Bytes*>(from);
  *to = __builtin_convertvector(__builtin_convertvector(bytes, Integers), Lanes);
}

/// sums[r][c] = sum_k x[r,k] w[c,k], for as many rows and columns as the template says.
template <int R, int C, typename W>
[[gnu::always_inline]] inline void dot_block(const float* x, int64_t x_stride, const W* w, int64_t w_stride,
                                             int64_t k, float* sums) {
  Lanes lanes[R][C] = {};
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      __builtin_prefetch(w + (c + C) * w_stride + i + kLanes);  // of the columns that come next
      Lanes weight;
      load(w + c * w_stride + i, &weight);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
        lanes[r][c] += weight * *reinterpret_cast<const Lanes*>(x + r * x_stride + i);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      float sum = sum_of(&lanes[r][c]);
      for (int64_t rest = i; rest < k; ++rest)
        sum += x[r * x_stride + rest] * static_cast<float>(w[c * w_stride + rest]);
      sums[r * C + c] = sum;
    }
}

/// Rows [row, row + R) and columns [column, column + C) of y.
template <int R, int C, typename W>
[[gnu::always_inline]] inline void put_block(const FewRows& p, const float* x, const W* w, float* y,
                                             float beta, int64_t row, int64_t column) {
  float sums[R * C];
  dot_block<R, C>(x + row * p.x_stride, p.x_stride, w + column * p.w_stride, p.w_stride, p.k, sums);
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) {
      float& to = y[(row + r) * p.y_stride + (column + c) * p.y_column_stride];
      to = p.alpha * sums[r * C + c] + (beta == 0 ? 0 : beta * to);
    }
}

/// All rows of C columns: the columns' numbers are read from memory once, and then from the cache.
template <int C, typename W>
[[gnu::always_inline]] inline void put_columns(const FewRows& p, const float* x, const W* w, float* y,
                                               float beta, int64_t column) {
  int64_t row = 0;
  for (; row + kRows <= p.rows; row += kRows) put_block<kRows, C>(p, x, w, y, beta, row, column);
  for (; row < p.rows; ++row) put_block<1, C>(p, x, w, y, beta, row, column);
}

template <typename W>
[[gnu::always_inline]] inline void put_range(const FewRows& p, const float* x, const W* w, float* y,
                                             float beta, int64_t begin, int64_t end) {
  int64_t column = begin;
  for (; column + kColumns <= end; column += kColumns) put_columns<kColumns>(p, x, w, y, beta, column);
  for (; column < end; ++column) put_columns<1>(p, x, w, y, beta, column);
}

template <typename W>
using Range = void (*)(const FewRows&, const float*, const W*, float*, float, int64_t, int64_t);

template <typename W>
void plain_range(const FewRows& p, const float* x, const W* w, float* y, float beta, int64_t begin,
                 int64_t end) {
  put_range(p, x, w, y, beta, begin, end);
}

#if defined(__x86_64__)
template <typename W>
[[gnu::target("avx2,fma")]] void avx2_range(const FewRows& p, const float* x, const W* w, float* y,
                                            float beta, int64_t begin, int64_t end) {
  put_range(p, x, w, y, beta, begin, end);
}

template <typename W>
[[gnu::target("avx512f,avx2,fma")]] void avx512_range(const FewRows& p, const float* x, const W* w, float* y,
                                                      float beta, int64_t begin, int64_t end) {
  put_range(p, x, w, y, beta, begin, end);
}

template <typename W>
Range<W> widest_range() {
  if (__builtin_cpu_supports("avx512f")) return avx512_range<W>;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2_range<W> : plain_range<W>;
}
#else
template <typename W>
Range<W> widest_range() {
  return plain_range<W>;
}
#endif

template <typename W>
void run_blocks(const FewRows& p, const float* x, const W* w, float* y, float beta) {
  static const Range<W> range = widest_range<W>();
  const int64_t blocks = (p.columns + kColumnsOfWork - 1) / kColumnsOfWork;
#pragma omp parallel for schedule(static) if (p.columns * p.k >= kShared)
  for (int64_t block = 0; block < blocks; ++block)
    range(p, x, w, y, beta, block * kColumnsOfWork, std::min(p.columns, (block + 1) * kColumnsOfWork));
}

}  // namespace

void FewRows::run(const float* x, const float* w, float* y, float beta) const {
  run_blocks(*this, x, w, y, beta);
}

void FewRows::run(const float* x, const int8_t* w, float* y, float beta) const {
  run_blocks(*this, x, w, y, beta);
}

}  // namespace smelt
