#include "runtime/engine/generation/best_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace smelt {
namespace {

/// All of them sorted.
std::vector<ScoredToken> reference(const std::vector<double>& scores, float sum, size_t count) {
  std::vector<ScoredToken> all;
  for (size_t i = 0; i < scores.size(); ++i)
    if (const float score = sum + static_cast<float>(scores[i]); std::isfinite(score))
      all.push_back({static_cast<int32_t>(i), score});
  std::ranges::stable_sort(all, std::greater<>(), &ScoredToken::score);
  all.resize(std::min(all.size(), count));
  return all;
}

TEST(BestScores, AreThoseOfASortedList) {
  std::mt19937 random(1);
  for (const size_t size : {0, 1, 31, 32, 33, 1000})
    for (const size_t count : {0, 1, 2, 8, 40})
      for (const double step : {1e-9, 0.1, 1.0})  // equal scores, once they are f32, are many, some, and most
        for (const float sum : {0.0f, -7.25f, 1e6f}) {
          std::uniform_int_distribution<int> draw(-20, 20);
          std::vector<double> scores(size);
          for (double& score : scores) score = step * draw(random);
          for (size_t i = 5; i < size; i += 7) scores[i] = -std::numeric_limits<double>::infinity();
          for (size_t i = 3; i < size; i += 50) scores[i] = std::numeric_limits<double>::quiet_NaN();
          const auto expected = reference(scores, sum, count), found = best_scores(scores, sum, count);
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(found[i].token, expected[i].token) << size << " " << count << " " << step << " " << sum;
            ASSERT_EQ(found[i].score, expected[i].score);
          }
        }
}

}  // namespace
}  // namespace smelt
