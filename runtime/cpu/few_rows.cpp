#include "runtime/cpu/few_rows.h"

#include <algorithm>
#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>  // GCC takes bytes that become floats apart, which an instruction does at once
#endif

namespace smelt {
namespace {

constexpr int kLanes = 16, kRows = 4, kColumns = 4;  // of a block of y that is summed in registers
constexpr int64_t kColumnsOfWork = 32;               // of y that a thread takes at once
constexpr int64_t kShared = 1 << 16;                 // numbers of w from which on threads pay

/// Sums of a lane each, which the compiler keeps in the widest registers that it may use.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

using Bytes = int8_t __attribute__((vector_size(kLanes), aligned(1), may_alias));

namespace plain {
[[gnu::always_inline]] inline void load(const int8_t* from, Lanes* to) {
  *to = __builtin_convertvector(*reinterpret_cast<const Bytes*>(from), Lanes);
}
#include "runtime/cpu/few_rows_blocks.inc"
}  // namespace plain

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
[[gnu::always_inline]] inline void load(const int8_t* from, Lanes* to) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m256 low = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
               high = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)));
  *to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#include "runtime/cpu/few_rows_blocks.inc"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
namespace avx512 {
[[gnu::always_inline]] inline void load(const int8_t* from, Lanes* to) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  *to = _mm512_maskz_cvtepi32_ps(0xFFFF, _mm512_maskz_cvtepi8_epi32(0xFFFF, bytes));
}
#include "runtime/cpu/few_rows_blocks.inc"
}  // namespace avx512
#pragma GCC pop_options
#endif

template <typename W>
using Range = void (*)(const FewRows&, const float*, const W*, float*, float, int64_t, int64_t);

template <typename W>
Range<W> widest_range() {
#if defined(__x86_64__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx512f")) return avx512::range<W>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::range<W>;
#endif
  return plain::range<W>;
}

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
