// The nearest conflicting step, against a look at every step.
#include "codegen/launches/conflict_index.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace smelt {
namespace {

/// Touches of a few memories, some of them whole, as states are.
std::vector<Footprint> random_footprints(std::mt19937& random, size_t count) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Footprint> steps(count);
  for (Footprint& step : steps)
    for (int touches = 1 + below(3); touches > 0; --touches) {
      const int64_t begin = below(40);
      const bool whole = below(10) == 0;
      step.push_back({.memory = below(4) - 2,
                      .begin = whole ? 0 : begin,
                      .end = whole ? std::numeric_limits<int64_t>::max() : begin + 1 + below(6),
                      .written = below(4) == 0});
    }
  return steps;
}

std::optional<size_t> scan(const std::vector<Footprint>& steps, size_t from, int direction) {
  for (size_t i = from + static_cast<size_t>(direction); i < steps.size();
       i += static_cast<size_t>(direction))
    if (conflict(steps[i], steps[from])) return i;
  return std::nullopt;
}

TEST(ConflictIndex, FindsWhatAScanFinds) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    std::vector<Footprint> steps = random_footprints(random, 60);
    ConflictIndex index(steps);
    for (int moves = 0; moves < 20; ++moves) {
      for (size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(index.last_before(i, steps[i]), scan(steps, i, -1)) << seed << " " << i;
        EXPECT_EQ(index.first_after(i, steps[i]), scan(steps, i, 1)) << seed << " " << i;
      }
      const size_t from = random() % steps.size(), to = (from + 1 + random() % 59) % steps.size();
      index.move(steps[from], from, to);
      steps[to].insert(steps[to].end(), steps[from].begin(), steps[from].end());
      steps[from].clear();
    }
  }
}

}  // namespace
}  // namespace smelt
