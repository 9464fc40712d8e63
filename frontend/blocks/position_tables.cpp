#include "frontend/blocks/position_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace smelt {

std::vector<double> sinusoids(int64_t rows, int64_t width, bool interleaved, bool ends_at_slowest) {
  std::vector<double> table;
  const int64_t half = (width + 1) / 2;
  const auto steps = static_cast<double>(ends_at_slowest ? width - 2 : width);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i) {
      const int64_t pair = interleaved ? i / 2 : i % half;
      const bool sine = interleaved ? i % 2 == 0 : i < half;
      const double angle =
          static_cast<double>(row) * std::pow(10000.0, -2.0 * static_cast<double>(pair) / steps);
      table.push_back(sine ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

std::vector<double> position_table(const TransformerSpec& spec, int64_t rows) {
  const auto& p = spec.positions;
  std::vector<double> table = sinusoids(rows, spec.hidden, p.interleaved, p.ends_at_slowest);
  const int64_t padding = spec.tokens.pad;
  if (p.ends_at_slowest && padding >= 0 && padding < rows)
    std::fill_n(table.begin() + padding * spec.hidden, spec.hidden, 0.0);
  return table;
}

std::vector<double> distance_buckets(const TransformerSpec::Positions& p, int64_t length, bool causal) {
  const int64_t buckets = causal ? p.buckets : p.buckets / 2, exact = buckets / 2;
  std::vector<double> table;
  for (int64_t distance = 1 - length; distance < length; ++distance) {
    const int64_t far = causal ? std::max<int64_t>(0, -distance) : std::abs(distance);
    int64_t bucket = far;
    if (far >= exact) {
      const double share = std::log(static_cast<double>(far) / static_cast<double>(exact)) /
                           std::log(static_cast<double>(p.max_distance) / static_cast<double>(exact));
      bucket =
          std::min(buckets - 1, exact + static_cast<int64_t>(share * static_cast<double>(buckets - exact)));
    }
    table.push_back(static_cast<double>(bucket + (!causal && distance > 0 ? buckets : 0)));
  }
  return table;
}

std::vector<double> alibi_slopes(int64_t heads) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<double> slopes;
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t i = head < power ? 2 * (head + 1) : 2 * (head - power) + 1;  // of 2 n
    slopes.push_back(std::exp2(-4.0 * static_cast<double>(i) / static_cast<double>(power)));
  }
  return slopes;
}

}  // namespace smelt
