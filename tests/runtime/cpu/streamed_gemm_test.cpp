#include "runtime/cpu/streamed_gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace smelt {
namespace {

std::vector<float> normal_values(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

class Streamed : public testing::Test {
 protected:
  void SetUp() override {
    if (!StreamedGemm::is_supported()) GTEST_SKIP() << "this processor has no instructions for it";
  }
};

/// Compares a product with sums in f64, and looks at what lies between the rows of y.
void expect_product(int64_t rows, int64_t columns, int64_t k, float beta, bool turned) {
  const int64_t lines = turned ? columns : rows, length = turned ? rows : columns, line = length + 1;
  const StreamedGemm product{rows, columns, k, k + 3, k + 5, turned ? 1 : line, turned ? line : 1, -0.5f};
  const auto x = normal_values(rows * (k + 3), 1), w = normal_values(columns * (k + 5), 2);
  auto y = normal_values(lines * line, 3);
  const auto before = y;
  if (beta == 0)  // is not read
    for (int64_t i = 0; i < lines; ++i)
      std::fill_n(y.begin() + i * line, length, std::numeric_limits<float>::quiet_NaN());
  product.run(x.data(), w.data(), y.data(), beta);
  for (int64_t i = 0; i < lines; ++i) {
    const auto between = static_cast<size_t>(i * line + length);
    ASSERT_EQ(y[between], before[between]);
    for (int64_t j = 0; j < length; ++j) {
      const int64_t row = turned ? j : i, column = turned ? i : j;
      double sum = 0;
      for (int64_t n = 0; n < k; ++n)
        sum += double{x[static_cast<size_t>(row * (k + 3) + n)]} *
               double{w[static_cast<size_t>(column * (k + 5) + n)]};
      const auto at = static_cast<size_t>(i * line + j);
      ASSERT_NEAR(y[at], (beta == 0 ? 0 : beta * before[at]) - 0.5 * sum, 1e-6 * static_cast<double>(k + 10))
          << rows << " " << columns << " " << k << " " << turned;
    }
  }
}

TEST_F(Streamed, SumsOfProductsAtOddSizes) {
  for (const int64_t rows : {1, 7, 16, 33, 50, 64, 65, 100})
    for (const int64_t columns : {1, 3, 47, 48, 101})
      for (const int64_t k : {1, 3, 64, 197, 800})
        for (const float beta : {0.0f, 0.5f})
          for (const bool turned : {false, true}) expect_product(rows, columns, k, beta, turned);
}

TEST_F(Streamed, ARowHasTheSameBitsForAnyThreadsAndRows) {
  const int64_t rows = 131, columns = 777, k = 397;
  const auto x = normal_values(rows * k, 1), w = normal_values(columns * k, 2);
  std::vector<float> together(static_cast<size_t>(rows * columns)), few(together.size());
  omp_set_num_threads(3);
  StreamedGemm{rows, columns, k, k, k, columns, 1, 1}.run(x.data(), w.data(), together.data(), 0);
  omp_set_num_threads(1);
  for (int64_t row = 0; row < rows; row += 37) {
    const int64_t count = std::min<int64_t>(37, rows - row);
    StreamedGemm{count, columns, k, k, k, columns, 1, 1}.run(x.data() + row * k, w.data(),
                                                             few.data() + row * columns, 0);
  }
  EXPECT_EQ(together, few);
}

TEST_F(Streamed, ValuesThatAreNotFiniteStayInTheirRowAndColumn) {
  const int64_t rows = 40, columns = 100, k = 128;
  auto x = normal_values(rows * k, 1);
  const auto w = normal_values(columns * k, 2);
  std::vector<float> y(static_cast<size_t>(rows * columns));
  x[static_cast<size_t>(39 * k + 5)] = std::numeric_limits<float>::infinity();
  StreamedGemm{rows, columns, k, k, k, columns, 1, 1}.run(x.data(), w.data(), y.data(), 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(std::isfinite(y[static_cast<size_t>(i * columns + j)]), i != 39) << i << " " << j;
}

}  // namespace
}  // namespace smelt
