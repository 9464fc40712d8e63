// Conversions and the rounding to storage types.
#include "ir/evaluate/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "runtime/base/half.h"
#include "runtime/base/packed_format.h"
#include "tests/ir/evaluate/support.h"

namespace smelt {
namespace {

using testing::Numbers, testing::output, testing::scalar, testing::vector;

TEST(Evaluator, ConversionsAreExactUnlessAskedToRound) {
  constexpr std::string_view text = "graph @g(%x: f32[2]) { %0 = convert %x : bf16[2] return r = %0 }";
  const Tensors x{{"x", vector({1.001953125, 0.1})}};
  EXPECT_EQ(output(text, x), (Numbers{1.001953125, 0.1}));
  EXPECT_EQ(output(text, x, {{}, {}, true, false}), (Numbers{1, 0.10009765625}));
}

TEST(Evaluator, ConversionsToIntegersTruncate) {
  EXPECT_EQ(output("graph @g(%x: f32[4]) { %0 = convert %x : i32[4] return r = %0 }",
                   {{"x", vector({1.9, -1.9, 0.5, 7})}}),
            (Numbers{1, -1, 0, 7}));
  EXPECT_EQ(output("graph @g(%x: f32[3]) { %0 = convert %x : bool[3] return r = %0 }",
                   {{"x", vector({0.5, 0, -3})}}),
            (Numbers{1, 0, 1}));
}

TEST(Rounding, ToNearestEven) {
  EXPECT_EQ(round_to(DType::bf16, 1 + 0x1p-8), 1);               // a tie, to even
  EXPECT_EQ(round_to(DType::bf16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);  // a tie, to even upwards
  EXPECT_EQ(round_to(DType::bf16, 1 + 0x1.1p-8), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DType::bf16, -0x1p-133 * 1.5), -0x1p-132);  // subnormal
  EXPECT_EQ(round_to(DType::bf16, 3.4e38), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(DType::f16, 65504), 65504);
  EXPECT_EQ(round_to(DType::f16, 65519.9), 65504);
  EXPECT_EQ(round_to(DType::f16, 65520), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(DType::f16, -65520), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(DType::f16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(round_to(DType::f16, 0x1p-25), 0);
  EXPECT_EQ(round_to(DType::f16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(round_to(DType::f32, 0.1), 0.1f);
  EXPECT_TRUE(std::isnan(round_to(DType::f16, std::numeric_limits<double>::quiet_NaN())));
}

/// Every bf16 and every f16 pattern is its own rounding; midpoints go to the neighbour of even pattern.
TEST(Rounding, KeepsEveryStorageNumber) {
  for (uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const double here = std::bit_cast<float>(bits << 16), next = std::bit_cast<float>((bits + 1) << 16);
    ASSERT_EQ(round_to(DType::bf16, here), here) << bits;
    if (std::isfinite(next)) {
      ASSERT_EQ(round_to(DType::bf16, (here + next) / 2), bits % 2 == 0 ? here : next) << bits;
    }
  }
  const auto half = [](uint32_t bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double fraction = (bits & 1023) / 1024.0;
    return exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  };
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    ASSERT_EQ(round_to(DType::f16, half(bits)), half(bits)) << bits;
    ASSERT_EQ(round_to(DType::f16, (half(bits) + half(bits + 1)) / 2), half(bits + bits % 2)) << bits;
  }
}

/// The numbers of f8e4m3 are those of the packed format fp8; midpoints go to the even pattern, and what is
/// beyond the largest number becomes it. The runtime's conversions agree.
TEST(Rounding, OfEightBitFloats) {
  const PackedFormat& format = *find_packed_format("fp8");
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto pattern = static_cast<uint8_t>(bits);
    const float here = format.values[bits];
    if (std::isnan(here)) {
      EXPECT_TRUE(std::isnan(from_f8e4m3(pattern)));
      continue;
    }
    EXPECT_EQ(from_f8e4m3(pattern), here) << bits;
    EXPECT_EQ(to_f8e4m3(here), pattern);
    EXPECT_EQ(round_to(DType::f8e4m3, here), here);
    if ((bits & 0x7F) >= 0x7E) continue;
    const float next = format.values[bits + 1], even = bits % 2 == 0 ? here : next;
    EXPECT_EQ(round_to(DType::f8e4m3, (double{here} + next) / 2), even) << bits;
    EXPECT_EQ(from_f8e4m3(to_f8e4m3((here + next) / 2)), even) << bits;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float x : {448.0F, 449.0F, 464.0F, 1e30F, kInfinity}) {
    EXPECT_EQ(round_to(DType::f8e4m3, -x), -448) << x;
    EXPECT_EQ(to_f8e4m3(-x), 0xFE) << x;
  }
  EXPECT_TRUE(std::isnan(round_to(DType::f8e4m3, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(from_f8e4m3(to_f8e4m3(std::numeric_limits<float>::quiet_NaN()))));
  for (uint64_t bits = 0; bits < (1ULL << 32); bits += 65521) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(x)) continue;
    ASSERT_EQ(from_f8e4m3(to_f8e4m3(x)), round_to(DType::f8e4m3, x)) << x;
  }
}

TEST(Evaluator, SinglePrecisionRoundsEveryStep) {
  constexpr std::string_view text =
      "graph @g(%x: f32[], %y: f32[]) { %0 = add %x, %y %1 = sub %0, %x return r = %1 }";
  const Tensors inputs{{"x", scalar(16777216)}, {"y", scalar(1)}};
  EXPECT_EQ(output(text, inputs), (Numbers{1}));
  EXPECT_EQ(output(text, inputs, {{}, {}, false, true}), (Numbers{0}));
}

}  // namespace
}  // namespace smelt
