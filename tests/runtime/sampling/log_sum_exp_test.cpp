#include "runtime/sampling/log_sum_exp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace smelt {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

double reference(const std::vector<float>& x, double top) {
  double sum = 0;
  for (const double each : x) sum += std::exp(each - top);
  return top + std::log(sum);
}

TEST(LogSumExp, IsTheLogarithmOfTheSumAtAnySize) {
  std::mt19937 random(1);
  for (const size_t count : {1, 2, 3, 4, 5, 63, 256, 257, 1000, 50257})
    for (const float width : {0.01f, 1.0f, 20.0f, 300.0f}) {
      std::normal_distribution<float> normal(-3 * width, width);
      std::vector<float> x(count);
      for (float& each : x) each = normal(random);
      const double top = *std::ranges::max_element(x);
      EXPECT_NEAR(log_sum_exp(x), reference(x, top), 3e-7) << count << " " << width;
    }
}

TEST(LogSumExp, TakesAnyNumbers) {
  const auto of = [](std::vector<float> x) { return log_sum_exp(x); };
  EXPECT_EQ(of({}), -kInfinite);
  EXPECT_EQ(of({-kInfinite, -kInfinite, -kInfinite, -kInfinite, -kInfinite}), -kInfinite);
  EXPECT_EQ(of({-kInfinite, 2.5f}), 2.5);
  EXPECT_NEAR(of({3e38f, -3e38f, 3e38f}), 3e38 + std::log(2), 1e32);
  EXPECT_TRUE(std::isnan(of({1, NAN, 2})));
  EXPECT_TRUE(std::isnan(of({1, 2, 3, 4, 5, NAN})));
  EXPECT_TRUE(std::isnan(of({1, kInfinite})));
}

}  // namespace
}  // namespace smelt
