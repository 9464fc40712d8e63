#include "runtime/sampling/token_weights.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random_sample.h"

namespace smelt {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float before(float x, uint32_t steps) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) + steps); }

TEST(TokenWeights, AreTheExponential) {
  EXPECT_EQ(weight_of(0), kWholeWeight);
  EXPECT_EQ(weight_of(-0.0F), kWholeWeight);
  for (float d = -1e-7F; d > -27.7F; d = d * 1.001F - 1e-4F) {
    const double exact = std::exp(double{d}) * 0x1p40;
    EXPECT_NEAR(static_cast<double>(weight_of(d)), exact, exact * 1e-7 + 1) << d;
  }
  for (const float d : {-28.0F, -27.75F, -1e30F, -kInfinity, std::nanf("")}) EXPECT_EQ(weight_of(d), 0U) << d;
}

/// Every 61st float here; all of them were looked at when the polynomial was chosen.
TEST(TokenWeights, NeverFallWhileScoresRise) {
  uint64_t last = kWholeWeight;
  for (float d = -1e-10F; d > -28.5F; d = before(d, 61)) {
    const uint64_t weight = weight_of(d);
    ASSERT_LE(weight, last) << d;
    last = weight;
  }
  EXPECT_EQ(last, 0U);
}

/// Processors with and without an instruction for a * b + c must agree.
TEST(TokenWeights, OfManyAreThoseOfEach) {
  std::vector<float> scores;
  for (int i = 0; i < 5000; ++i) scores.push_back(3 - 0.007F * static_cast<float>(i));
  scores.push_back(-kInfinity);
  std::vector<uint64_t> weights(scores.size());
  weights_of(scores, 3, 1 / 0.7F, weights.data());
  for (size_t i = 0; i < scores.size(); ++i)
    EXPECT_EQ(weights[i], i == 0 ? kWholeWeight : weight_of((scores[i] - 3) * (1 / 0.7F))) << i;
}

TEST(TokenWeights, PartsOfAMass) {
  constexpr uint64_t kMost = uint64_t{1} << 63, kLastBits = (uint64_t{1} << 53) - 1;
  EXPECT_EQ(drawn_part(kMost, 0), 0U);
  EXPECT_LT(drawn_part(kMost, kLastBits), kMost);
  EXPECT_EQ(drawn_part(1, kLastBits), 0U);
  EXPECT_EQ(nucleus_mass(1000, 0.5F), 500U);
  EXPECT_EQ(nucleus_mass(1001, 0.5F), 501U);
  EXPECT_EQ(nucleus_mass(1000, 0), 1U);
  EXPECT_EQ(nucleus_mass(1000, 1), 1000U);
  EXPECT_EQ(nucleus_mass(1000, std::nanf("")), 1000U);
  EXPECT_EQ(least_weight(0), 0U);
  EXPECT_EQ(least_weight(1), kWholeWeight);
  EXPECT_EQ(least_weight(7), kWholeWeight);
}

TEST(TokenWeights, PlacesAreInTheOrderOfScores) {
  const float rising[] = {std::nanf(""), -kInfinity, -1, -1e-40F, 0, 1e-40F, 2, kInfinity};
  for (size_t i = 1; i < std::size(rising); ++i)
    EXPECT_LT(place_of(rising[i - 1], 0), place_of(rising[i], 7)) << i;
  EXPECT_EQ(order_of(0.0F), order_of(-0.0F));
  EXPECT_GT(place_of(1, 3), place_of(1, 4));
  EXPECT_EQ(word_at(place_of(1, 128255)), 128255);
}

// ---- sample on the CPU

struct Drawn {
  int32_t token;
  float log_probability;
};

Drawn drawn(const std::vector<float>& scores, const std::vector<float>& numbers,
            const std::vector<int32_t>& integers) {
  Drawn result{};
  const auto count = static_cast<int64_t>(scores.size());
  sample({1, count, count}, scores.data(), numbers.data(), integers.data(), &result.token,
         &result.log_probability);
  return result;
}

TEST(CpuSample, NoTokenIsMinusOne) {
  for (const std::vector<float>& scores :
       {std::vector<float>{}, {-kInfinity, -kInfinity}, {1, std::nanf(""), 3}})
    for (const float temperature : {0.0F, 1.0F}) {
      const Drawn found = drawn(scores, {temperature, 1, 0}, {0, 1, 2, 3});
      EXPECT_EQ(found.token, -1);
      EXPECT_TRUE(std::isnan(found.log_probability));
    }
}

TEST(CpuSample, LogProbabilityIsThatOfTheScoresAsTheyAre) {
  const Drawn found = drawn({1, 3, 2}, {0.1F, 0.5F, 0.5F}, {1, 1, 2, 3});
  EXPECT_EQ(found.token, 1);
  EXPECT_NEAR(found.log_probability, -std::log(1 + std::exp(-1.0) + std::exp(-2.0)), 1e-6);
}

// Pearson's test, 19 degrees of freedom: 43.82 is exceeded once in a thousand seeds, 5.41 by all but one.
TEST(CpuSample, DrawsFollowTheDistribution) {
  constexpr int kWords = 20, kDraws = 50'000;
  std::vector<float> scores;
  for (int i = 0; i < kWords; ++i) scores.push_back(0.1F * static_cast<float>(i * 7 % kWords));
  double total = 0;
  for (const float score : scores) total += std::exp(score / 1.5);
  std::vector<int> counts(kWords);
  for (int i = 0; i < kDraws; ++i)
    ++counts[static_cast<size_t>(drawn(scores, {1.5F, 1, 0}, {0, 11, i, 0}).token)];
  double chi_square = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = std::exp(scores[i] / 1.5) / total * kDraws, difference = counts[i] - expected;
    chi_square += difference * difference / expected;
  }
  EXPECT_LT(chi_square, 43.82);
  EXPECT_GT(chi_square, 5.41);
}

}  // namespace
}  // namespace smelt
