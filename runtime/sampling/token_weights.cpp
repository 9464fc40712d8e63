#include "runtime/sampling/token_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/base/philox.h"

namespace smelt {
namespace {

constexpr uint32_t kSampleId = 0x53414D50;  // its own stream of random numbers

/// Cody and Waite's reduction to |r| <= log(2) / 2 and Cephes' polynomial, only with operations that IEEE 754
/// defines: no sum follows a product that a compiler might contract.
[[gnu::always_inline]] inline uint64_t fixed_exp(float d) {
  if (!(d > -28.0F)) return 0;
  const float k = std::fma(d, 1.44269504F, 12582912.0F) - 12582912.0F;  // d / log(2) to the nearest integer
  const float r = std::fma(k, 2.12194440e-4F, std::fma(k, -0.693359375F, d));
  float p = std::fma(1.9875691500e-4F, r, 1.3981999507e-3F);
  p = std::fma(p, r, 8.3334519073e-3F);
  p = std::fma(p, r, 4.1665795894e-2F);
  p = std::fma(p, r, 1.6666665459e-1F);
  p = std::fma(p, r, 5.0000001201e-1F);
  p = std::fma(p, r * r, r) + 1.0F;
  const auto exponent = static_cast<uint32_t>(static_cast<int32_t>(k) + 127 + 40);
  return static_cast<uint64_t>(p * std::bit_cast<float>(exponent << 23));
}

[[gnu::always_inline]] inline void weights_of_all(std::span<const float> scores, float largest, float rate,
                                                  uint64_t* weights) {
  for (const float score : scores)
    *weights++ = score == largest ? kWholeWeight : fixed_exp((score - largest) * rate);
}

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void fused_weights(std::span<const float> scores, float largest, float rate,
                                               uint64_t* weights) {
  weights_of_all(scores, largest, rate, weights);
}
#endif

}  // namespace

uint32_t order_of(float score) {
  if (std::isnan(score)) return 0;
  const auto bits = std::bit_cast<uint32_t>(score == 0 ? 0.0F : score);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

uint64_t weight_of(float d) { return fixed_exp(d); }

void weights_of(std::span<const float> scores, float largest, float rate, uint64_t* weights) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return fused_weights(scores, largest, rate, weights);
#endif
  weights_of_all(scores, largest, rate, weights);
}

uint64_t random_bits(uint32_t seed, uint32_t position, uint32_t index) {
  const auto w = Philox{.seed = seed, .step = position}.words(kSampleId, index, 0);
  return (uint64_t{w[1]} << 32 | w[0]) >> 11;
}

uint64_t drawn_part(uint64_t mass, uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(mass) * bits >> 53);
}

uint64_t nucleus_mass(uint64_t mass, float top_p) {
  if (!(top_p < 1)) return mass;
  const double wanted = std::ceil(static_cast<double>(mass) * static_cast<double>(std::max(top_p, 0.0F)));
  return std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, mass);
}

uint64_t least_weight(float min_p) {
  if (!(min_p > 0)) return 0;
  return static_cast<uint64_t>(std::ceil(std::min(static_cast<double>(min_p), 1.0) * 0x1p40));
}

}  // namespace smelt
