#include "runtime/ranks/collective_rates.h"

#include <algorithm>
#include <cstdlib>

namespace smelt {
namespace {

/// Returns the number of sequential steps of a ring: an all_reduce goes round twice.
double ring_steps(CollectiveKind kind, int64_t ranks) {
  return static_cast<double>(kind == CollectiveKind::all_reduce ? 2 * (ranks - 1) : ranks - 1);
}

CollectiveTime scaled(const CollectiveRates::Row& row, int64_t ranks) {
  return {row.time.latency * ring_steps(row.kind, ranks) / ring_steps(row.kind, row.ranks),
          row.time.seconds_per_byte * ring_share(row.kind, ranks) / ring_share(row.kind, row.ranks)};
}

/// Sums of a weighted regression; the weight of a size is 1 / seconds^2.
struct Sums {
  double ones = 0, x = 0, xx = 0, y = 0, xy = 0;

  void add(const TimedSize& size) {
    const double weight = 1 / std::max(size.seconds * size.seconds, 1e-30);
    ones += weight, x += weight * size.bytes, xx += weight * size.bytes * size.bytes;
    y += weight * size.seconds, xy += weight * size.bytes * size.seconds;
  }
  CollectiveTime flat() const { return {y / ones, 0}; }
  CollectiveTime through_zero() const { return {0, xx > 0 ? xy / xx : 0}; }
};

}  // namespace

double ring_share(CollectiveKind kind, int64_t ranks) {
  const double once = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return kind == CollectiveKind::all_reduce ? 2 * once : once;
}

CollectiveTime CollectiveRates::time(CollectiveKind kind, int64_t ranks) const {
  if (ranks <= 1) return {};
  const Row* nearest = nullptr;
  for (const Row& row : rows_)
    if (row.kind == kind && row.ranks > 1 &&
        (!nearest || std::abs(row.ranks - ranks) < std::abs(nearest->ranks - ranks)))
      nearest = &row;
  if (nearest) return scaled(*nearest, ranks);
  return {assumed_.latency * ring_steps(kind, ranks) / ring_steps(kind, 2),
          ring_share(kind, ranks) / assumed_.bytes_per_second};
}

CollectiveTime fit_line(std::span<const TimedSize> sizes) {
  Sums sums;
  for (const TimedSize& size : sizes) sums.add(size);
  const double spread = sums.ones * sums.xx - sums.x * sums.x;
  if (!(spread > 1e-12 * sums.ones * sums.xx)) return sums.flat();
  const double slope = (sums.ones * sums.xy - sums.x * sums.y) / spread;
  const double start = (sums.y - slope * sums.x) / sums.ones;
  if (slope < 0) return sums.flat();
  return start < 0 ? sums.through_zero() : CollectiveTime{start, slope};
}

}  // namespace smelt
