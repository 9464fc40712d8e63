#include "passes/program/memory/place_allocations.h"

#include <algorithm>
#include <random>

#include "passes/program/memory/first_fit.h"

namespace smelt {
namespace {

constexpr size_t kOrdersImproved = 2;
constexpr int kTriesPerOrder = 250;
constexpr int64_t kMostComparisons = 6'000'000;  // before the search ends: about 10 ms
constexpr int64_t kCloseEnough = 250;            // arenas of bound + bound / kCloseEnough are not improved
constexpr uint64_t kMostMoved = 3;               // allocations per try, besides those at the top

struct PlacedOrder {
  std::vector<int> order;
  ArenaPlacement placement;
};

class PlacementSearch {
 public:
  PlacementSearch(const std::vector<Allocation>& allocations, const std::vector<int64_t>& least)
      : allocations_(allocations), fit_(allocations), bound_(bound_of(least)) {}

  ArenaPlacement run(std::vector<std::vector<int>> orders) {
    std::vector<PlacedOrder> placed;
    for (std::vector<int>& order : orders) {
      placed.push_back(place(std::move(order)));
      const int64_t bytes = bytes_of(placed.back());
      if (bytes == bound_ || (is_close(bytes) && fit_.comparisons() > kMostComparisons)) break;
    }
    std::ranges::stable_sort(placed, {}, bytes_of);
    placed.resize(std::min(placed.size(), kOrdersImproved));
    if (!is_close(bytes_of(placed.front())))
      for (PlacedOrder& one : placed) improve(one);
    return std::ranges::min_element(placed, {}, bytes_of)->placement;
  }

 private:
  static int64_t bytes_of(const PlacedOrder& placed) { return placed.placement.bytes; }

  /// An allocation is contiguous, also where few of its parts live together.
  int64_t bound_of(const std::vector<int64_t>& least) const {
    int64_t bound = least.empty() ? 0 : std::ranges::max(least);
    for (const Allocation& allocation : allocations_) bound = std::max(bound, aligned(allocation.life.bytes));
    return bound;
  }

  bool is_close(int64_t bytes) const { return bytes - bound_ <= bound_ / kCloseEnough; }

  PlacedOrder place(std::vector<int> order) {
    const int64_t bytes = fit_.place(order);
    return {std::move(order), {bytes, fit_.offsets()}};
  }

  void improve(PlacedOrder& best) {
    std::mt19937_64 random(0);
    const int64_t most = fit_.comparisons() + kMostComparisons;
    for (int i = 0; i < kTriesPerOrder && fit_.comparisons() < most && !is_close(bytes_of(best)); ++i) {
      PlacedOrder next = place(varied(best, random));
      if (next.placement.bytes <= best.placement.bytes) best = std::move(next);
    }
  }

  /// Moves what ends at the top of the arena, and a few others, to random earlier positions.
  std::vector<int> varied(const PlacedOrder& placed, std::mt19937_64& random) const {
    std::vector<int> order = placed.order;
    for (uint64_t i = 1 + random() % kMostMoved; i > 0; --i)
      move_earlier(order, random() % order.size(), random);
    for (size_t i = 0; i < order.size(); ++i)
      if (ends_at_top(placed.placement, order[i])) move_earlier(order, i, random);
    return order;
  }

  static void move_earlier(std::vector<int>& order, size_t position, std::mt19937_64& random) {
    const auto at = order.begin() + static_cast<ptrdiff_t>(position);
    std::rotate(order.begin() + static_cast<ptrdiff_t>(random() % (position + 1)), at, at + 1);
  }

  bool ends_at_top(const ArenaPlacement& placement, int number) const {
    const auto i = static_cast<size_t>(number);
    return placement.offsets[i] + aligned(allocations_[i].life.bytes) >= placement.bytes;
  }

  const std::vector<Allocation>& allocations_;
  FirstFit fit_;
  int64_t bound_;
};

}  // namespace

ArenaPlacement place_allocations(const std::vector<Allocation>& allocations,
                                 const std::vector<int64_t>& least) {
  if (allocations.empty()) return {};
  return PlacementSearch(allocations, least).run(placement_orders(allocations, least));
}

}  // namespace smelt
