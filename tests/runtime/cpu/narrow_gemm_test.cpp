#include "runtime/cpu/narrow_gemm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/base/convert.h"

namespace smelt {
namespace {

struct Case {
  GemmSizes sizes;
  size_t a, b, c;  // elements
};

std::vector<Case> cases() {
  return {
      {{.m = 3, .n = 5, .k = 7, .a = {7, 1}, .b = {5, 1}, .c = {9, 1}}, 21, 35, 27},
      {{.m = 33, .n = 1, .k = 31, .a = {1, 33}, .b = {1, 31}, .c = {1, 40}, .beta = 1}, 1023, 31, 33},
      {{.m = 4,
        .n = 6,
        .k = 3,
        .a = {3, 1},
        .b = {1, 3},
        .c = {1, 8},
        .alpha = 0.5,
        .beta = 1,
        .batch = {{2, 12, 18, 4}, {3, 24, 0, 48, false}}},
       72,
       36,
       196},
      {{.m = 2, .n = 3, .k = 4, .a = {4, 1}, .b = {3, 1}, .c = {3, 1}, .batch = {{5, 8, 12, 0, true}}},
       40,
       60,
       6},
  };
}

class NarrowGemm : public ::testing::TestWithParam<std::tuple<size_t, DType, DType>> {};

/// The same numbers through the f32 GEMM; elements that are not C's stay as they were.
TEST_P(NarrowGemm, IsTheProductOfTheWidenedRounded) {
  const auto& [index, operands, result] = GetParam();
  const Case c = cases()[index];
  std::mt19937 random(static_cast<uint32_t>(index) + 3);
  std::normal_distribution<float> normal;
  const auto make = [&](size_t count, DType type, std::vector<std::byte>& stored) {
    std::vector<float> values(count);
    for (float& v : values) v = normal(random);
    stored.resize(count * static_cast<size_t>(size_of(type)));
    narrow(values.data(), stored.data(), type, static_cast<int64_t>(count));
    widen(stored.data(), type, values.data(), static_cast<int64_t>(count));
    return values;
  };
  std::vector<std::byte> a, b, out;
  const std::vector<float> wide_a = make(c.a, operands, a), wide_b = make(c.b, operands, b);
  std::vector<float> wide_c = make(c.c, result, out);
  PreparedGemm(c.sizes, "test").run(wide_a.data(), wide_b.data(), wide_c.data());
  std::vector<std::byte> expected(out.size());
  narrow(wide_c.data(), expected.data(), result, static_cast<int64_t>(c.c));
  TypedGemm(c.sizes, operands, result, "test").run(a.data(), b.data(), out.data());
  EXPECT_EQ(out, expected);
}

INSTANTIATE_TEST_SUITE_P(All, NarrowGemm,
                         ::testing::Combine(::testing::Range<size_t>(0, 4),
                                            ::testing::Values(DType::f32, DType::bf16, DType::f16),
                                            ::testing::Values(DType::f32, DType::bf16, DType::f16)));

}  // namespace
}  // namespace smelt
