#include "runtime/cpu/small_m.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <limits>
#include <random>
#include <vector>

namespace smelt {
namespace {

std::vector<float> random_values(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

TEST(SmallM, SumsOfProductsAtOddSizes) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 8, 15, 32})
    for (const int64_t columns : {1, 3, 31, 33, 197})
      for (const int64_t k : {1, 15, 16, 33, 197})
        for (const float beta : {0.0f, 0.5f}) {
          SmallM product{rows, columns, k, k + 3, k + 5, columns + 1, 1, -0.5f};
          const auto x = random_values(rows * (k + 3), 1), w = random_values(columns * (k + 5), 2);
          auto y = random_values(rows * (columns + 1), 3);
          const auto before = y;
          if (beta == 0)  // is not read
            for (int64_t i = 0; i < rows; ++i)
              std::fill_n(y.begin() + i * (columns + 1), columns, std::numeric_limits<float>::quiet_NaN());
          product.run(x.data(), w.data(), y.data(), beta);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j <= columns; ++j) {
              const auto at = static_cast<size_t>(i * (columns + 1) + j);
              double sum = 0;
              for (int64_t n = 0; j < columns && n < k; ++n)
                sum += double{x[static_cast<size_t>(i * (k + 3) + n)]} *
                       double{w[static_cast<size_t>(j * (k + 5) + n)]};
              const double expected = j == columns ? before[at] : beta * before[at] - 0.5 * sum;
              ASSERT_NEAR(y[at], expected, 1e-6 * static_cast<double>(k + 10))
                  << rows << " " << columns << " " << k;
            }
        }
}

/// Bytes are floats of the same values: the same bits.
TEST(SmallM, BytesAreTheFloatsThatTheyStandFor) {
  std::mt19937 random(5);
  for (const int64_t rows : {1, 3, 4, 15, 30})
    for (const int64_t columns : {1, 3, 31, 33, 197})
      for (const int64_t k : {1, 15, 16, 33, 197}) {
        const SmallM product{rows, columns, k, k + 3, k + 5, columns + 1, 1, -0.5f};
        const auto x = random_values(rows * (k + 3), 1);
        std::vector<int8_t> bytes(static_cast<size_t>(columns * (k + 5)));
        for (int8_t& b : bytes) b = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
        const std::vector<float> floats(bytes.begin(), bytes.end());
        std::vector<float> y(static_cast<size_t>(rows * (columns + 1)),
                             std::numeric_limits<float>::quiet_NaN());
        auto expected = y;
        product.run(x.data(), bytes.data(), y.data(), 0);
        product.run(x.data(), floats.data(), expected.data(), 0);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            const auto at = static_cast<size_t>(i * (columns + 1) + j);
            ASSERT_EQ(y[at], expected[at]) << rows << " " << columns << " " << k;
          }
      }
}

TEST(SmallM, ARowHasTheSameBitsAloneAndAmongOthers) {
  const int64_t columns = 777, k = 197;
  const auto x = random_values(SmallM::kMostRows * k, 1), w = random_values(columns * k, 2);
  std::vector<float> together(static_cast<size_t>(SmallM::kMostRows * columns)), alone(columns),
      turned(together);
  omp_set_num_threads(3);
  SmallM{SmallM::kMostRows, columns, k, k, k, columns, 1, 1}.run(x.data(), w.data(), together.data(), 0);
  SmallM{SmallM::kMostRows, columns, k, k, k, 1, SmallM::kMostRows, 1}.run(x.data(), w.data(), turned.data(),
                                                                           0);
  omp_set_num_threads(1);
  for (int64_t i = 0; i < SmallM::kMostRows; ++i) {
    SmallM{1, columns, k, k, k, columns, 1, 1}.run(x.data() + i * k, w.data(), alone.data(), 0);
    for (int64_t j = 0; j < columns; ++j) {
      ASSERT_EQ(alone[static_cast<size_t>(j)], together[static_cast<size_t>(i * columns + j)]);
      ASSERT_EQ(alone[static_cast<size_t>(j)], turned[static_cast<size_t>(j * SmallM::kMostRows + i)]);
    }
  }
}

}  // namespace
}  // namespace smelt
