#include "runtime/engine/weights/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/cpu/threads.h"
#include "runtime/engine/weights/packed_numbers.h"

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

/// A group's scale, before it is rounded, and zero.
struct GroupRange {
  float scale = 0, zero = 0;
};

/// The number of the largest magnitude becomes that of the format.
GroupRange symmetric_range(std::span<const float> group, const PackedFormat& format) {
  const float furthest = *std::ranges::max_element(group, {}, [](float x) { return std::abs(x); });
  float least = 0, most = 0;
  for (const float value : format.values) least = std::fmin(least, value), most = std::fmax(most, value);
  return {-least > most ? furthest / least : std::abs(furthest) / most};
}

/// The numbers from the least to the largest, and 0, become those of the format.
GroupRange whole_range(std::span<const float> group, const PackedFormat& format) {
  const auto [low, high] = std::ranges::minmax(group);
  const float least = std::min(low, 0.0F), most = std::max(high, 0.0F);
  const float scale = (most - least) / (format.values.back() - format.values.front());
  if (!(scale > 0)) return {scale};
  return {scale, std::nearbyint(format.values.front() - least / scale)};
}

/// Writes the codes of a group; returns its scale and zero as they are stored.
GroupRange pack_group(std::span<const float> group, const PackedFormat& format, DType dtype, bool has_zero,
                      std::span<uint8_t> words) {
  std::vector<uint8_t> codes(group.size(), static_cast<uint8_t>(format.nearest(0)));
  GroupRange range;
  if (std::isnan(largest_magnitude(group)))
    range.scale = std::numeric_limits<float>::quiet_NaN();
  else
    range = has_zero ? whole_range(group, format) : symmetric_range(group, format);
  range.scale = rounded(range.scale, dtype);
  if (range.scale != 0 && std::isfinite(range.scale))
    for (size_t i = 0; i < group.size(); ++i)
      codes[i] = static_cast<uint8_t>(format.nearest(group[i] / range.scale + range.zero));
  pack(format, codes, words.data());
  return range;
}

}  // namespace

void pack_groups(std::span<const float> weights, const PackedFormat& format, DType dtype, PackedGroups to) {
  if (to.scales.empty()) return;
  const size_t length = weights.size() / to.scales.size(), bytes = to.codes.size() / to.scales.size();
  const auto groups = static_cast<int64_t>(to.scales.size());
#pragma omp parallel for schedule(static) num_threads(team_threads())
  for (int64_t g = 0; g < groups; ++g) {
    const auto at = static_cast<size_t>(g);
    const GroupRange range = pack_group(weights.subspan(at * length, length), format, dtype,
                                        !to.zeros.empty(), to.codes.subspan(at * bytes, bytes));
    to.scales[at] = range.scale;
    if (!to.zeros.empty()) to.zeros[at] = static_cast<int8_t>(range.zero);
  }
}

std::vector<float> unpack_groups(const PackedFormat& format, std::span<const uint8_t> codes,
                                 std::span<const float> scales, std::span<const int8_t> zeros) {
  std::vector<float> weights(codes.size() * 8 / static_cast<size_t>(format.bits));
  unpack(format, codes.data(), weights);
  const size_t length = scales.empty() ? 1 : weights.size() / scales.size();
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t at = i / length;
    weights[i] = (weights[i] - (zeros.empty() ? 0.0F : static_cast<float>(zeros[at]))) * scales[at];
  }
  return weights;
}

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
