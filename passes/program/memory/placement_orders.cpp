#include "passes/program/memory/place_allocations.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace smelt {
namespace {

/// Smaller ones come first, compared number by number.
using Rank = std::array<int64_t, 2>;

int64_t steps_of(const Lifetime& life) { return life.last - life.first + 1; }

int64_t saturated_product(int64_t bytes, int64_t steps) {
  int64_t product = 0;
  return __builtin_mul_overflow(bytes, steps, &product) ? INT64_MAX : product;
}

/// Bytes times steps of all ranges.
int64_t area_of(const Allocation& allocation) {
  int64_t area = 0;
  for (const LiveRange& range : allocation.ranges) {
    const int64_t own = saturated_product(range.end - range.begin, range.last - range.first + 1);
    if (__builtin_add_overflow(area, own, &area)) return INT64_MAX;
  }
  return area;
}

/// Steps between the life and the peak, 0 where it includes the peak.
int64_t distance(const Lifetime& life, int peak) {
  return std::max({0, life.first - peak, peak - life.last});
}

template <typename RankOf>
std::vector<int> order_by(const std::vector<Allocation>& allocations, RankOf rank_of) {
  std::vector<Rank> ranks;
  for (const Allocation& allocation : allocations) ranks.push_back(rank_of(allocation));
  std::vector<int> order(allocations.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int number) { return ranks[static_cast<size_t>(number)]; });
  return order;
}

}  // namespace

std::vector<std::vector<int>> placement_orders(const std::vector<Allocation>& allocations,
                                               const std::vector<int64_t>& least) {
  const auto peak = static_cast<int>(std::ranges::max_element(least) - least.begin());
  const auto by = [&](auto rank_of) { return order_by(allocations, rank_of); };
  return {by([](const Allocation& a) { return Rank{-a.life.bytes}; }),
          by([](const Allocation& a) { return Rank{-area_of(a)}; }),
          by([](const Allocation& a) { return Rank{a.life.parts.empty(), -steps_of(a.life)}; }),
          by([&](const Allocation& a) { return Rank{distance(a.life, peak), -steps_of(a.life)}; }),
          by([&](const Allocation& a) {
            return distance(a.life, peak) == 0 ? Rank{-1, -steps_of(a.life)} : Rank{0, -a.life.bytes};
          }),
          by([&](const Allocation& a) {
            return distance(a.life, peak) == 0 ? Rank{-1, -a.life.last} : Rank{0, -area_of(a)};
          })};
}

}  // namespace smelt
