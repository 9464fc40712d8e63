#include "runtime/engine/generation/best_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace smelt {
namespace {

constexpr size_t kBlock = 32;  // scores that are passed over together

/// Returns whether one of kBlock scores is above the bound.
bool any_above(const double* scores, double bound) {
  using Doubles =
      double __attribute__((vector_size(2 * sizeof(double)), aligned(alignof(double)), may_alias));
  using Masks = int64_t __attribute__((vector_size(2 * sizeof(int64_t))));
  const Doubles bounds = {bound, bound};
  Masks above = {};
  for (size_t i = 0; i < kBlock; i += 2) above |= *reinterpret_cast<const Doubles*>(scores + i) > bounds;
  return (above[0] | above[1]) != 0;
}

class Best {
 public:
  Best(float sum, size_t count) : sum_(sum), count_(count) {}

  /// Adds a score. Later tokens come after equal ones.
  void add(int32_t token, double value) {
    const float score = sum_ + static_cast<float>(value);
    if (!std::isfinite(score) || (is_full() && score <= list_.back().score)) return;
    if (is_full()) list_.pop_back();
    const auto place = std::ranges::upper_bound(list_, score, std::greater<>(), &ScoredToken::score);
    list_.insert(place, {token, score});
  }

  /// Nothing that is not above it can be added: what rounding may give is left to `add`.
  double bound() const {
    if (!is_full()) return -std::numeric_limits<double>::infinity();
    const double least = list_.back().score;
    return least - sum_ - 0x1p-21 * (std::abs(least) + std::abs(double{sum_}));
  }

  std::vector<ScoredToken> take() { return std::move(list_); }

 private:
  bool is_full() const { return list_.size() == count_; }

  float sum_;
  size_t count_;
  std::vector<ScoredToken> list_;  // the best first
};

}  // namespace

std::vector<ScoredToken> best_scores(std::span<const double> scores, float sum, size_t count) {
  if (count == 0) return {};
  Best best(sum, count);
  for (size_t begin = 0; begin < scores.size(); begin += kBlock) {
    const size_t end = std::min(scores.size(), begin + kBlock);
    if (end == begin + kBlock && !any_above(scores.data() + begin, best.bound())) continue;
    for (size_t i = begin; i < end; ++i) best.add(static_cast<int32_t>(i), scores[i]);
  }
  return best.take();
}

}  // namespace smelt
