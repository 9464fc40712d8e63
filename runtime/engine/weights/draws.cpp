// Built with -O3, because its loops are for vector units, and without contraction, because fused instructions
// would change bits.
#include "runtime/engine/weights/draws.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "runtime/cpu/threads.h"

// One body for several generations of processors; the loader takes the best, before a sanitizer could begin.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__OPTIMIZE__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SMELT_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SMELT_CLONES
#endif
#define SMELT_INLINE [[gnu::always_inline]] inline

namespace smelt {
namespace {

constexpr int64_t kGroup = Draws::kGroup;
constexpr int kLanes = 64;  // groups of a block
constexpr int64_t kBlock = kLanes * kGroup;

/// Returns a number in (0, 1), without its ends: (bits + 1/2) 2^-32. For vectors: conversions from signed
/// numbers are one instruction.
SMELT_INLINE double unit_lane(uint32_t bits) {
  return (static_cast<double>(static_cast<int32_t>(bits ^ 0x80000000u)) + 2147483648.5) * 0x1p-32;
}

/// Philox::words of a block's groups, a word a row.
struct Words {
  uint32_t word[kGroup][kLanes];
};

SMELT_INLINE void draw_words(const Philox& philox, uint32_t id, int64_t group, Words& w) {
  for (int i = 0; i < kLanes; ++i) {
    w.word[0][i] = philox.step, w.word[1][i] = philox.micro_step;
    w.word[2][i] = static_cast<uint32_t>((group + i) >> 24);
    w.word[3][i] = static_cast<uint32_t>((group + i) & 0xFFFFFF);
  }
  uint32_t k0 = philox.seed, k1 = id;
  for (int round = 0; round < 7; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * w.word[0][i], p1 = uint64_t{0xCD9E8D57u} * w.word[2][i];
      w.word[0][i] = static_cast<uint32_t>(p1 >> 32) ^ w.word[1][i] ^ k0;
      w.word[2][i] = static_cast<uint32_t>(p0 >> 32) ^ w.word[3][i] ^ k1;
      w.word[1][i] = static_cast<uint32_t>(p1);
      w.word[3][i] = static_cast<uint32_t>(p0);
    }
}

/// log u for u in (0, 1) within a few units of the last place: u = 2^e m with m in [sqrt(1/2), sqrt(2)), and
/// log m = 2 artanh((m - 1) / (m + 1)).
SMELT_INLINE double log_lane(double u) {
  const auto bits = std::bit_cast<uint64_t>(u);
  double e = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  const bool large = m > std::numbers::sqrt2;
  m = large ? 0.5 * m : m, e = large ? e + 1 : e;
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 21;
  for (int k = 19; k >= 3; k -= 2) p = p * z + 1.0 / k;
  return e * 0x1.62E42FEE00000p-1 + (2 * s + (2 * s * z * p + e * 0x1.A39EF35793C76p-33));
}

/// Sine and cosine of an angle in (0, 2 pi) that is no nearer to a multiple of pi / 2 than 1e-10.
SMELT_INLINE void sin_cos_lane(double angle, double& sine, double& cosine) {
  constexpr double kRound = 0x1.8p52;  // what is added to it loses its fraction
  const double shifted = angle * (2 / std::numbers::pi) + kRound, quarter = shifted - kRound;
  const uint64_t quadrant = std::bit_cast<uint64_t>(shifted);
  const double r = (angle - quarter * 0x1.921FB54400000p0) - quarter * 0x1.0B4611A626331p-34, z = r * r;
  double s = 1, c = 1;
  for (int k = 17; k >= 3; k -= 2) s = 1 - s * z * (1.0 / (k * (k - 1)));
  for (int k = 18; k >= 2; k -= 2) c = 1 - c * z * (1.0 / (k * (k - 1)));
  s *= r;
  const bool odd = quadrant & 1;
  const double a = odd ? c : s, b = odd ? s : c;
  sine = quadrant & 2 ? -a : a;
  cosine = (quadrant + 1) & 2 ? -b : b;
}

SMELT_CLONES void normal_block(const Philox& philox, uint32_t id, double scale, int64_t group, float* out) {
  Words w;
  draw_words(philox, id, group, w);
  float value[kGroup][kLanes];
  for (int pair = 0; pair < kGroup; pair += 2)
    for (int i = 0; i < kLanes; ++i) {
      double sine, cosine;
      sin_cos_lane(2 * std::numbers::pi * unit_lane(w.word[pair + 1][i]), sine, cosine);
      const double radius = scale * std::sqrt(-2 * log_lane(unit_lane(w.word[pair][i])));
      const double x = radius * cosine, y = radius * sine;
      value[pair][i] = static_cast<float>(x), value[pair + 1][i] = static_cast<float>(y);
    }
  for (int i = 0; i < kLanes; ++i)
    for (int j = 0; j < kGroup; ++j) out[i * kGroup + j] = value[j][i];
}

SMELT_CLONES void uniform_block(const Philox& philox, uint32_t id, double scale, int64_t group, float* out) {
  Words w;
  draw_words(philox, id, group, w);
  for (int i = 0; i < kLanes; ++i)
    for (int j = 0; j < kGroup; ++j)
      out[i * kGroup + j] = static_cast<float>(scale * (2 * unit_lane(w.word[j][i]) - 1));
}

/// Whole blocks go where they belong, cut ones by way of a block of their own.
template <typename Fill>
void by_blocks(int64_t first, int64_t count, float* out, const Fill& fill) {
  const int64_t end = first + count, begin_block = first / kBlock, end_block = (end + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) num_threads(count > 16 * 1024 ? team_threads() : 1)
  for (int64_t block = begin_block; block < end_block; ++block) {
    const int64_t begin = block * kBlock, from = std::max(first, begin), to = std::min(end, begin + kBlock);
    if (to - from == kBlock) {
      fill(block * kLanes, out + (begin - first));
    } else {
      float whole[kBlock];
      fill(block * kLanes, whole);
      std::copy(whole + (from - begin), whole + (to - begin), out + (from - first));
    }
  }
}

}  // namespace

void Draws::uniform(int64_t first, int64_t count, float* out) const {
  by_blocks(first, count, out,
            [this](int64_t group, float* to) { uniform_block(philox_, id_, scale_, group, to); });
}

void Draws::normal(int64_t first, int64_t count, float* out) const {
  by_blocks(first, count, out,
            [this](int64_t group, float* to) { normal_block(philox_, id_, scale_, group, to); });
}

}  // namespace smelt
