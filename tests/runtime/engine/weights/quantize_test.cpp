#include "runtime/engine/weights/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace smelt {
namespace {

TEST(Quantize, IsOffByHalfAScaleAtMost) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const size_t length : {1, 3, 31, 33, 197}) {
    constexpr size_t kRows = 7;
    std::vector<float> weights(kRows * length), scales(kRows, -1);
    for (float& w : weights) w = normal(random);
    std::vector<int8_t> bytes(weights.size(), 99);
    quantize_rows(weights, bytes, scales);
    std::vector<float> back(bytes.begin(), bytes.end());
    scale_rows(back, scales);
    for (size_t i = 0; i < weights.size(); ++i)
      ASSERT_LE(std::abs(back[i] - weights[i]), 0.5000002f * scales[i / length]) << length;
  }
}

TEST(Quantize, RoundsTiesToEven) {
  const std::vector<float> weights = {127, 0.5f, 1.5f, -0.5f, -2.5f, -127};
  std::vector<int8_t> bytes(6);
  std::vector<float> scale(1);
  quantize_rows(weights, bytes, scale);
  EXPECT_EQ(scale[0], 1);
  EXPECT_EQ(bytes, (std::vector<int8_t>{127, 0, 2, 0, -2, -127}));
}

TEST(Quantize, RowsOfZerosAndOfNoNumbers) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> weights = {0, 0, infinity, 1, 2, nan};
  std::vector<int8_t> bytes(6, 9);
  std::vector<float> scales(3);
  quantize_rows(weights, bytes, scales);
  EXPECT_EQ(scales[0], 0);
  EXPECT_TRUE(std::isnan(scales[1]));
  EXPECT_TRUE(std::isnan(scales[2]));
  EXPECT_EQ(bytes, std::vector<int8_t>(6, 0));
}

}  // namespace
}  // namespace smelt
