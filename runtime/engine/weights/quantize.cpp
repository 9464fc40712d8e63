#include "runtime/engine/weights/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/cpu/threads.h"

namespace smelt {
namespace {

constexpr float kMost = 127;

/// NaN where a number is not finite.
float largest_magnitude(std::span<const float> row) {
  float largest = 0;
  for (const float x : row) {
    if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(x));
  }
  return largest;
}

float quantize_row(std::span<const float> row, std::span<int8_t> to) {
  const float scale = largest_magnitude(row) / kMost;
  // A scale of 0 is that of zeros, or of numbers too small for any.
  if (!(scale > 0)) return std::ranges::fill(to, int8_t{0}), scale;
  const double divisor = scale;
  for (size_t i = 0; i < row.size(); ++i)
    to[i] = static_cast<int8_t>(std::clamp(std::nearbyint(row[i] / divisor), -double{kMost}, double{kMost}));
  return scale;
}

}  // namespace

void quantize_rows(std::span<const float> weights, std::span<int8_t> to, std::span<float> scales) {
  if (scales.empty()) return;
  const size_t length = weights.size() / scales.size();
  const auto rows = static_cast<int64_t>(scales.size());
#pragma omp parallel for schedule(static) num_threads(team_threads())
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<size_t>(r);
    scales[row] = quantize_row(weights.subspan(row * length, length), to.subspan(row * length, length));
  }
}

void scale_rows(std::span<float> values, std::span<const float> scales) {
  if (scales.empty()) return;
  const size_t length = values.size() / scales.size();
  for (size_t i = 0; i < length * scales.size(); ++i) values[i] *= scales[i / length];
}

}  // namespace smelt
