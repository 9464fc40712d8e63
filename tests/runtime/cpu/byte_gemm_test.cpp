#include "runtime/cpu/byte_gemm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace smelt {
namespace {

std::vector<int8_t> random_bytes(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int8_t> bytes(static_cast<size_t>(count));
  for (int8_t& byte : bytes) byte = static_cast<int8_t>(static_cast<int>(random() % 256) - 128);
  return bytes;
}

int32_t sum_of_products(const GemmSizes& s, const int8_t* a, const int8_t* b, int64_t row, int64_t column) {
  int32_t sum = 0;
  for (int64_t i = 0; i < s.k; ++i)
    sum +=
        a[row * s.a.row_stride + i * s.a.column_stride] * b[i * s.b.row_stride + column * s.b.column_stride];
  return sum;
}

/// Memory after the columns of a row of C keeps its values.
void expect_sums(const GemmSizes& s) {
  const auto a = random_bytes(s.m * s.a.row_stride + s.k * s.a.column_stride, 1),
             b = random_bytes(s.k * s.b.row_stride + s.n * s.b.column_stride, 2);
  std::vector<int32_t> c(static_cast<size_t>(s.m * s.c.row_stride + s.n * s.c.column_stride), 7), before = c;
  ByteGemm(s).run(a.data(), b.data(), c.data());
  for (int64_t row = 0; row < s.m; ++row)
    for (int64_t column = 0; column < s.n; ++column) {
      const auto at = static_cast<size_t>(row * s.c.row_stride + column * s.c.column_stride);
      const int32_t addend = s.beta == 0 ? 0 : before[at];
      before[at] = addend + sum_of_products(s, a.data(), b.data(), row, column);
    }
  ASSERT_EQ(c, before) << s.m << " " << s.n << " " << s.k;
}

TEST(ByteGemm, SumsOfProductsAtOddSizes) {
  for (const int64_t m : {0, 1, 5, 6, 7, 33})
    for (const int64_t n : {1, 15, 64, 65, 130})
      for (const int64_t k : {1, 3, 4, 63, 64, 67, 200})
        for (const double beta : {0.0, 1.0})
          expect_sums({m, n, k, {k + 3, 1}, {1, k + 5}, {n + 2, 1}, 1, beta});
}

/// Lines of any matrix may lie the other way.
TEST(ByteGemm, TransposedMatrices) {
  const int64_t m = 37, n = 70, k = 21;
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      for (const bool c : {false, true})
        expect_sums({m, n, k, a ? GemmSizes::Matrix{1, m} : GemmSizes::Matrix{k, 1},
                     b ? GemmSizes::Matrix{n, 1} : GemmSizes::Matrix{1, k},
                     c ? GemmSizes::Matrix{1, m} : GemmSizes::Matrix{n, 1}});
}

TEST(ByteGemm, ManyRowsOnThreads) { expect_sums({900, 200, 96, {96, 1}, {1, 96}, {200, 1}}); }

TEST(ByteGemm, SumsOverBatches) {
  GemmSizes sizes{5, 9, 8, {8, 1}, {1, 8}, {9, 1}};
  sizes.batch = {{2, 40, 72, 45}, {3, 80, 144, 0, true}};
  const auto a = random_bytes(240, 1), b = random_bytes(432, 2);
  std::vector<int32_t> c(90, 7);
  ByteGemm(sizes).run(a.data(), b.data(), c.data());
  for (int64_t i = 0; i < 2; ++i) {
    int32_t sum = 0;
    for (int64_t j = 0; j < 3; ++j)
      sum += sum_of_products(sizes, a.data() + 40 * i + 80 * j, b.data() + 72 * i + 144 * j, 4, 8);
    EXPECT_EQ(c[static_cast<size_t>(45 * i + 44)], sum);
  }
}

}  // namespace
}  // namespace smelt
