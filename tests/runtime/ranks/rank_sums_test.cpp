#include "runtime/ranks/rank_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/base/half.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

template <typename T>
std::vector<T> sum_of(const std::vector<std::vector<T>>& ranks, DType dtype, CollectiveSum sum) {
  std::vector<const std::byte*> from;
  for (const auto& rank : ranks) from.push_back(reinterpret_cast<const std::byte*>(rank.data()));
  std::vector<T> to(ranks[0].size());
  sum_of_ranks(from, reinterpret_cast<std::byte*>(to.data()), static_cast<int64_t>(to.size()), dtype, sum);
  return to;
}

TEST(RankSums, RoundedOnce) {
  // In float, 2^24 + 1 - 2^24 is 0.
  const std::vector<std::vector<float>> f32 = {{16777216, -0.0F}, {1, -0.0F}, {-16777216, -0.0F}};
  EXPECT_EQ(sum_of(f32, DType::f32, CollectiveSum::add)[0], 1);
  EXPECT_TRUE(std::signbit(sum_of(f32, DType::f32, CollectiveSum::add)[1]))
      << "nothing is added to start with";
  const std::vector<std::vector<uint16_t>> bf16 = {{to_bf16(256)}, {to_bf16(1)}, {to_bf16(1)}};
  EXPECT_EQ(from_bf16(sum_of(bf16, DType::bf16, CollectiveSum::add)[0]), 258);
  const std::vector<std::vector<uint16_t>> f16 = {{to_f16(2048)}, {to_f16(1)}, {to_f16(1)}};
  EXPECT_EQ(from_f16(sum_of(f16, DType::f16, CollectiveSum::add)[0]), 2050);
}

TEST(RankSums, IntegersWrap) {
  const std::vector<std::vector<int32_t>> i32 = {{std::numeric_limits<int32_t>::max()}, {2}};
  EXPECT_EQ(sum_of(i32, DType::i32, CollectiveSum::add)[0], std::numeric_limits<int32_t>::min() + 1);
  const std::vector<std::vector<int64_t>> i64 = {{std::numeric_limits<int64_t>::max()}, {1}};
  EXPECT_EQ(sum_of(i64, DType::i64, CollectiveSum::add)[0], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(sum_of(i64, DType::i64, CollectiveSum::max)[0], std::numeric_limits<int64_t>::max());
}

TEST(RankSums, MaximaKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> f32 = {{1, nan, 3, -5}, {2, 1, nan, -7}, {0, 2, 1, -6}};
  const auto max = sum_of(f32, DType::f32, CollectiveSum::max);
  EXPECT_EQ(max[0], 2);
  EXPECT_TRUE(std::isnan(max[1]));
  EXPECT_TRUE(std::isnan(max[2]));
  EXPECT_EQ(max[3], -5);
}

TEST(RankSums, OtherTypesAreRefused) {
  for (const DType dtype : {DType::u8, DType::u16, DType::boolean, DType::i8})
    EXPECT_HAS(message_of([&] { check_summable(dtype); }), name(dtype));
}

}  // namespace
}  // namespace smelt
