#include "runtime/sampling/log_sum_exp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace smelt {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr size_t kFour = 4;
constexpr size_t kInFloats =
    256;  // terms that are summed in f32, in four sums, before they are added to a double

using Floats = float __attribute__((vector_size(kFour * sizeof(float))));
using Integers = int32_t __attribute__((vector_size(kFour * sizeof(int32_t))));

Floats four_at(const float* x) {  // of any alignment
  Floats four;
  std::memcpy(&four, x, sizeof four);
  return four;
}

/// Calls f with four numbers at a time, and -infinity after the last one.
template <typename F>
void for_fours(std::span<const float> x, const F& f) {
  size_t i = 0;
  for (; i + kFour <= x.size(); i += kFour) f(four_at(x.data() + i));
  if (i == x.size()) return;
  std::array<float, kFour> rest;
  rest.fill(-kInfinite);
  std::ranges::copy(x.subspan(i), rest.begin());
  f(four_at(rest.data()));
}

/// 2^n p(r) with x = n log 2 + r, for x from -87 on, where 2^n is a normal number.
Floats exponential(Floats x) {
  constexpr float kRound = 0x1.8p23f;                            // what is added to it loses its fraction
  constexpr float kHigh = 0x1.62e4p-1f, kLow = 0x1.7f7d1cp-20f;  // of log 2; n times the first one is exact
  const Floats shifted = x * 0x1.715476p0f + kRound, n = shifted - kRound;
  const Floats r = x - n * kHigh - n * kLow;
  Floats p = r * (1.0f / 720) + 1.0f / 120;
  for (const float factor : {1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f}) p = p * r + factor;
  const Integers power = reinterpret_cast<Integers>(shifted) << 23;
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(p) + power);
}

float largest(std::span<const float> x) {
  Floats most = {-kInfinite, -kInfinite, -kInfinite, -kInfinite};
  Integers is_nan = {};
  for_fours(x, [&](Floats four) {
    most = four > most ? four : most;
    is_nan |= four != four;  // NOLINT(misc-redundant-expression): only a NaN differs from itself
  });
  if ((is_nan[0] | is_nan[1] | is_nan[2] | is_nan[3]) != 0) return std::numeric_limits<float>::quiet_NaN();
  return std::max({most[0], most[1], most[2], most[3]});
}

}  // namespace

double log_sum_exp(std::span<const float> x) {
  const float top = largest(x);
  if (std::isnan(top) || top == -kInfinite) return top;
  if (top == kInfinite) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (size_t i = 0; i < x.size(); i += kInFloats) {
    Floats part = {};
    for_fours(x.subspan(i, std::min(kInFloats, x.size() - i)), [&](Floats four) {
      const Floats below = four - top;
      const Floats least = {-87, -87, -87, -87};  // a millionth of a millionth of a float's last bit
      part += exponential(below > least ? below : least);
    });
    sum += double{part[0]} + part[1] + part[2] + part[3];
  }
  return top + std::log(sum);
}

}  // namespace smelt
