#include "ir/evaluate/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace smelt {
namespace {

/// A binary format: bits of the significand (the leading one counted), the least exponent, the largest
/// number.
struct Format {
  int digits, least_exponent;
  double largest;
  bool saturates = false;  // numbers beyond the largest become the largest, not infinite
};
constexpr Format kBfloat16{8, -126, 0x1.FEp127}, kHalf{11, -14, 65504.0}, kE4m3{4, -6, 448.0, true};

/// Returns the format of a float type of fewer than 32 bits; null for other types.
const Format* narrow_format(DType type) {
  if (type == DType::bf16) return &kBfloat16;
  if (type == DType::f16) return &kHalf;
  return type == DType::f8e4m3 ? &kE4m3 : nullptr;
}

double round_to_format(const Format& format, double x) {
  if (std::isnan(x) || x == 0) return x;
  if (!std::isfinite(x)) return format.saturates ? std::copysign(format.largest, x) : x;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const double unit = std::ldexp(1.0, exponent - format.digits + 1);
  const double rounded = std::nearbyint(x / unit) * unit;  // the default mode: ties to even
  if (std::fabs(rounded) <= format.largest) return rounded;
  return std::copysign(format.saturates ? format.largest : std::numeric_limits<double>::infinity(), x);
}

}  // namespace

double rounding_error(DType type, const Bounded& x) {
  const Format* found = narrow_format(type);
  if (!found) return 0;
  const Format& format = *found;
  const double moved = bounding::distance(round_to(type, x.value), x.value);
  if (x.error == 0 || !std::isfinite(moved)) return moved;
  const double step = std::ldexp(1, 1 - format.digits);  // of numbers from 1 to 2
  return std::max(moved,
                  std::max(std::fabs(x.value) + x.error, std::ldexp(1, format.least_exponent)) * step / 2);
}

float round_stochastically(float x, uint32_t bits) {
  if (x != x) return x;
  const uint32_t sum = std::bit_cast<uint32_t>(x) + (bits & 0xFFFFu);
  return std::bit_cast<float>(sum & 0xFFFF0000u);
}

double round_to(DType type, double x) {
  switch (type) {
    case DType::f64:
      return x;
    case DType::f32:
      return static_cast<double>(static_cast<float>(x));
    case DType::bf16:
    case DType::f16:
    case DType::f8e4m3:
      return round_to_format(*narrow_format(type), x);
    case DType::boolean:
      return x != 0 ? 1 : 0;
    default:
      return std::trunc(x);
  }
}

}  // namespace smelt
