#include "runtime/cpu/small_m.h"

#include <omp.h>

#include <algorithm>
#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>  // GCC takes bytes that become floats apart, which an instruction does at once
#endif

namespace smelt {
namespace {

constexpr int kColumnsOfOneRow = 4;   // of a block of one row, or of two
constexpr int64_t kShared = 1 << 16;  // numbers of w from which on threads pay
constexpr int64_t kNear = 1 << 14;    // bytes of w that stay in the first-level cache for all rows

/// Lies anywhere in memory.
using Floats4 = float __attribute__((vector_size(4 * sizeof(float)), aligned(alignof(float)), may_alias));
using Floats8 = float __attribute__((vector_size(8 * sizeof(float)), aligned(alignof(float)), may_alias));
using Floats16 = float __attribute__((vector_size(16 * sizeof(float)), aligned(alignof(float)), may_alias));

/// Sums in pairs, because a sequential sum would take as long as the products of a short row.
[[gnu::always_inline]] inline float sum_of(const Floats4* x) {
  return ((*x)[0] + (*x)[2]) + ((*x)[1] + (*x)[3]);
}
[[gnu::always_inline]] inline float sum_of(const Floats8* x) {
  const Floats4 four =
      __builtin_shufflevector(*x, *x, 0, 1, 2, 3) + __builtin_shufflevector(*x, *x, 4, 5, 6, 7);
  return sum_of(&four);
}
[[gnu::always_inline]] inline float sum_of(const Floats16* x) {
  const Floats8 eight = __builtin_shufflevector(*x, *x, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(*x, *x, 8, 9, 10, 11, 12, 13, 14, 15);
  return sum_of(&eight);
}

using Bytes4 = int8_t __attribute__((vector_size(4), aligned(1), may_alias));

namespace plain {
constexpr int kLanes = 4, kRows = 4, kColumns = 2;
using Lanes = Floats4;
[[gnu::always_inline]] inline void load(const int8_t* from, Lanes* to) {
  *to = __builtin_convertvector(*reinterpret_cast<const Bytes4*>(from), Lanes);
}
#include "runtime/cpu/small_m_blocks.inc"
}  // namespace plain

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr int kLanes = 8, kRows = 4, kColumns = 3;
using Lanes = Floats8;
[[gnu::always_inline]] inline void load(const int8_t* from, Lanes* to) {
  *to = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
#include "runtime/cpu/small_m_blocks.inc"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
namespace avx512 {
constexpr int kLanes = 16, kRows = 4, kColumns = 6;
using Lanes = Floats16;
[[gnu::always_inline]] inline void load(const int8_t* from, Lanes* to) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  *to = _mm512_maskz_cvtepi32_ps(0xFFFF, _mm512_maskz_cvtepi8_epi32(0xFFFF, bytes));
}
#include "runtime/cpu/small_m_blocks.inc"
}  // namespace avx512
#pragma GCC pop_options
#endif

template <typename W>
using Range = void (*)(const SmallM&, const float*, const W*, float*, float, int64_t, int64_t);

template <typename W>
Range<W> widest_range() {
#if defined(__x86_64__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx512f")) return avx512::range<W>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::range<W>;
#endif
  return plain::range<W>;
}

template <typename W>
void run_blocks(const SmallM& p, const float* x, const W* w, float* y, float beta) {
  static const Range<W> range = widest_range<W>();
  const int64_t parts = p.columns * p.k < kShared ? 1 : omp_get_max_threads();
#pragma omp parallel for schedule(static) if (parts > 1)
  for (int64_t part = 0; part < parts; ++part)
    range(p, x, w, y, beta, p.columns * part / parts, p.columns * (part + 1) / parts);
}

}  // namespace

void SmallM::run(const float* x, const float* w, float* y, float beta) const {
  run_blocks(*this, x, w, y, beta);
}

void SmallM::run(const float* x, const int8_t* w, float* y, float beta) const {
  run_blocks(*this, x, w, y, beta);
}

}  // namespace smelt
