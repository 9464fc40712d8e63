#include "runtime/cpu/copy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "runtime/base/half.h"

namespace smelt {
namespace {

template <typename Word>
void check_copy(const std::vector<CopyAxis>& axes, const std::string& what) {
  int64_t from_size = 1, to_size = 1, count = 1;
  for (const CopyAxis& axis : axes) {
    from_size += (axis.extent - 1) * axis.from, to_size += (axis.extent - 1) * axis.to;
    count *= axis.extent;
  }
  std::vector<Word> from(static_cast<size_t>(from_size)), to(static_cast<size_t>(to_size), 77), expected = to;
  std::mt19937 random(3);
  for (Word& word : from) word = static_cast<Word>(random());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, a = 0, b = 0;
    for (size_t axis = axes.size(); axis-- > 0;) {
      a += rest % axes[axis].extent * axes[axis].from, b += rest % axes[axis].extent * axes[axis].to;
      rest /= axes[axis].extent;
    }
    expected[static_cast<size_t>(b)] = from[static_cast<size_t>(a)];
  }
  PreparedCopy(axes, sizeof(Word))
      .run(reinterpret_cast<const std::byte*>(from.data()), reinterpret_cast<std::byte*>(to.data()));
  EXPECT_EQ(to, expected) << what;
}

TEST(Copy, StridedBoxes) {
  check_copy<uint32_t>({}, "one element");
  check_copy<uint32_t>({{777, 1, 1}}, "contiguous");
  check_copy<uint16_t>({{33, 31, 31}, {31, 1, 1}}, "collapses");
  check_copy<uint8_t>({{31, 1, 33}, {33, 31, 1}}, "transposed");
  check_copy<uint64_t>({{3, 1000, 50}, {5, 100, 10}, {7, 0, 1}}, "broadcast");
  check_copy<uint32_t>({{33, 40, 33}, {33, 1, 1}}, "rows with a pitch");
  check_copy<uint32_t>({{777, 512, 400}, {197, 2, 2}}, "large, with steps");
}

TEST(Copy, AnEmptyBoxTouchesNothing) {
  const std::byte from{1};
  std::byte to{2};
  PreparedCopy({{0, 1, 1}}, 1).run(&from, &to);
  PreparedCopy({{0, 1, 1}, {5, 1, 1}}, 1).run(&from, &to);
  PreparedCopy({{5, 1, 1}, {0, 1, 1}}, 1).run(&from, &to);
  EXPECT_EQ(to, std::byte{2});
}

template <typename T>
std::vector<T> filled(DType dtype, double value, size_t count) {
  std::vector<T> values(count + 1, T(7));
  fill(reinterpret_cast<std::byte*>(values.data()), static_cast<int64_t>(count), dtype, value);
  EXPECT_EQ(values.back(), T(7)) << "beyond the end";
  values.pop_back();
  return values;
}

TEST(Fill, EveryType) {
  EXPECT_EQ(filled<float>(DType::f32, -1.5, 777), std::vector<float>(777, -1.5f));
  EXPECT_EQ(filled<double>(DType::f64, 0.1, 3), std::vector<double>(3, 0.1));
  EXPECT_EQ(filled<int32_t>(DType::i32, -100, 33), std::vector<int32_t>(33, -100));
  EXPECT_EQ(filled<int64_t>(DType::i64, 1e15, 31), std::vector<int64_t>(31, 1000000000000000));
  EXPECT_EQ(filled<uint16_t>(DType::u16, 65535, 5), std::vector<uint16_t>(5, 65535));
  EXPECT_EQ(filled<uint8_t>(DType::boolean, 3, 5), std::vector<uint8_t>(5, 1));
  EXPECT_EQ(filled<uint16_t>(DType::bf16, 1, 5), std::vector<uint16_t>(5, 0x3F80));
  EXPECT_EQ(filled<uint16_t>(DType::f16, -2, 5), std::vector<uint16_t>(5, 0xC000));
  EXPECT_EQ(filled<float>(DType::f32, -INFINITY, 300001), std::vector<float>(300001, -INFINITY));
}

TEST(Half, EveryPatternSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (!std::isnan(from_f16(half)))
      EXPECT_EQ(to_f16(from_f16(half)), half);
    else
      EXPECT_TRUE(std::isnan(from_f16(to_f16(from_f16(half)))));
    if (!std::isnan(from_bf16(half)))
      EXPECT_EQ(to_bf16(from_bf16(half)), half);
    else
      EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bf16(half)))));
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(from_f16(to_f16(2049)), 2048);
  EXPECT_EQ(from_f16(to_f16(2051)), 2052);
  EXPECT_EQ(from_f16(to_f16(65519)), 65504);
  EXPECT_TRUE(std::isinf(from_f16(to_f16(65520))));
  EXPECT_EQ(from_f16(to_f16(0x1p-25f)), 0);
  EXPECT_EQ(from_f16(to_f16(0x1.8p-25f)), 0x1p-24f);
  EXPECT_EQ(from_bf16(to_bf16(257)), 256);
  EXPECT_EQ(from_bf16(to_bf16(259)), 260);
}

}  // namespace
}  // namespace smelt
