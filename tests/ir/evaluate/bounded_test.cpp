// Bounds on the error of float32, derived with the values of float64.
#include "ir/evaluate/bounded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/evaluate/rounding.h"
#include "tests/ir/evaluate/support.h"

namespace smelt {
namespace {

using testing::Numbers, testing::vector;

constexpr double kUnbounded = std::numeric_limits<double>::infinity(), kUnit = 0x1p-24;

BoundedEvaluation with_bounds(std::string_view text, const Tensors& inputs) {
  const auto module = parse_module(text);
  EvaluateOptions options;
  options.round = true;
  return evaluate_bounded(*module->graphs.front(), inputs, {}, options);
}
Numbers errors_of(std::string_view text, const Tensors& inputs) {
  return with_bounds(text, inputs).error.outputs.at("r").data;
}

TEST(Bounded, RoundsOncePerOperation) {
  const Numbers errors =
      errors_of("graph @g(%x: f32[2], %y: f32[2]) { %0 = add %x, %y : f32[2] return r = %0 }",
                {{"x", vector({1, 1e10})}, {"y", vector({2, -1e10})}});
  EXPECT_EQ(errors, (Numbers{3 * kUnit, 0}));  // exact inputs that cancel leave no error
}

TEST(Bounded, ConstantsAreTheNearestNumbers) {
  const Numbers errors =
      errors_of("graph @g() { %0 = constant {values = [0.4, 0.5, 1e39]} : f32[3] return r = %0 }", {});
  EXPECT_EQ(errors, (Numbers{static_cast<double>(0.4F) - 0.4, 0, kUnbounded}));
}

TEST(Bounded, PropagatesErrorsByTheSlope) {
  const Numbers errors = errors_of(R"(graph @g(%x: f32[1], %y: f32[1]) {
  %0 = mul %x, %x : f32[1]
  %1 = sub %0, %y : f32[1]
  %2 = exp %1 : f32[1]
  return r = %2
})",
                                   {{"x", vector({100})}, {"y", vector({10000})}});
  EXPECT_NEAR(errors[0], 1e4 * kUnit + 4 * kUnit, 10 * kUnit);
}

TEST(Bounded, SumsHoldForEveryOrder) {
  const Tensors inputs{{"x", vector({1e30, 5, -1e30})}};
  const BoundedEvaluation sum =
      with_bounds("graph @g(%x: f32[3]) { %0 = reduce add %x {axes = [0]} return r = %0 }", inputs);
  EXPECT_GE(sum.error.outputs.at("r").data[0], 2e30 * kUnit);
  const auto of_matmul =
      errors_of("graph @g(%x: f32[3]) { %0 = matmul %x, %x {spec = \"a,a->\"} return r = %0 }",
                {{"x", vector({1, 2, 3})}});
  EXPECT_GE(of_matmul[0], 14 * kUnit);
  EXPECT_LE(of_matmul[0], 14 * 5 * kUnit);
}

TEST(Bounded, SpecialValuesAreExactUntilSomethingMayOverflow) {
  const auto of_exp = [](double x) { return apply_bounded(ScalarOp::exp, Bounded(x), {}, {}); };
  EXPECT_EQ(of_exp(-kUnbounded).error, 0);
  EXPECT_EQ(of_exp(kUnbounded).error, 0);
  EXPECT_EQ(of_exp(NAN).error, 0);
  EXPECT_TRUE(of_exp(100).is_wild());
  EXPECT_TRUE(apply_bounded(ScalarOp::log, Bounded(1e-9, 1e-8), {}, {}).is_wild());
  EXPECT_TRUE(apply_bounded(ScalarOp::div, Bounded(1), Bounded(1e-9, 1e-8), {}).is_wild());
  EXPECT_TRUE((Bounded(NAN) + Bounded(1, kUnbounded)).is_nan());
}

TEST(Bounded, ComparisonsMayGoEitherWay) {
  const Bounded flag = apply_bounded(ScalarOp::lt, Bounded(1, 0.1), Bounded(1.05), {});
  EXPECT_EQ(flag.error, 1);
  const Bounded chosen = apply_bounded(ScalarOp::select, flag, Bounded(3, 0.5), Bounded(7, 0.25));
  EXPECT_EQ(chosen.value, 3);
  EXPECT_EQ(chosen.error, 4.25);
  EXPECT_EQ(apply_bounded(ScalarOp::lt, Bounded(1, 0.01), Bounded(1.05), {}).error, 0);
  EXPECT_TRUE(reduce_bounded(ReduceOp::argmax, {Bounded(1, 0.1), Bounded(1.05)})[1].is_wild());
  EXPECT_EQ(reduce_bounded(ReduceOp::argmax, {Bounded(1), Bounded(1)})[1].error, 0);
}

/// A flag that may be either is 0 or 1, and no other number of its interval.
TEST(Bounded, ConnectivesOfUndecidedFlags) {
  const Bounded maybe(1, 1), maybe_not(0, 1), yes(1), no(0);
  const auto error_of = [](ScalarOp op, const Bounded& a, const Bounded& b) {
    return apply_bounded(op, a, b, {}).error;
  };
  EXPECT_EQ(error_of(ScalarOp::logical_or, maybe_not, maybe), 1);
  EXPECT_EQ(error_of(ScalarOp::logical_or, no, maybe), 1);
  EXPECT_EQ(error_of(ScalarOp::logical_or, yes, maybe_not), 0);
  EXPECT_EQ(error_of(ScalarOp::logical_and, maybe_not, yes), 1);
  EXPECT_EQ(error_of(ScalarOp::logical_and, maybe, no), 0);
  EXPECT_EQ(error_of(ScalarOp::logical_not, maybe_not, {}), 1);
  EXPECT_EQ(error_of(ScalarOp::logical_not, no, {}), 0);
}

/// Counts of flags that may be either.
TEST(Bounded, CountsOfUndecidedFlags) {
  constexpr std::string_view text = R"(graph @g(%x: f32[3]) {
  %0 = mul %x, %x : f32[3]
  %1 = sub %0, %0 : f32[3]
  %2 = constant {value = 0.0} : f32[3]
  %3 = gt %1, %2 : bool[3]
  %4 = eq %1, %2 : bool[3]
  %5 = logical_or %3, %4 : bool[3]
  %6 = convert %5 : i32[3]
  %7 = reduce add %6 {axes = [0]} : i32[]
  return r = %7
})";
  EXPECT_EQ(errors_of(text, {{"x", vector({1.1, 1.3, 1.7})}}), (Numbers{3}));
}

/// y - (y + i) at y = 2^24 is off by 1 at most: the largest element may be another, and as large as that.
TEST(Bounded, OrderedValuesMayBeOtherElements) {
  const BoundedEvaluation found = with_bounds(R"(graph @g(%x: f32[3], %y: f32[3]) {
  %0 = add %x, %y : f32[3]
  %1 = sub %0, %x : f32[3]
  %2, %3 = top_k %1 {k = 3} : f32[3], i32[3]
  return r = %2, i = %3
})",
                                              {{"x", vector({0, 0, 1e9})}, {"y", vector({5, 4.5, 3})}});
  const Numbers &values = found.error.outputs.at("r").data, &places = found.error.outputs.at("i").data;
  EXPECT_EQ(found.value.outputs.at("r").data, (Numbers{5, 4.5, 3}));
  EXPECT_GE(values[0], 50);  // the last element may come first
  EXPECT_GE(values[2], 50);
  EXPECT_LT(values[1], 1);
  EXPECT_EQ(places, (Numbers{kUnbounded, kUnbounded, kUnbounded}));
}

TEST(Bounded, NumbersOfSixteenBitsRoundAlikeOrNot) {
  constexpr std::string_view text = R"(graph @g(%x: f32[2], %y: f32[2]) {
  %0 = mul %x, %y : f32[2]
  %1 = convert %0 : bf16[2]
  return r = %1
})";
  const Numbers errors = errors_of(text, {{"x", vector({1.001953125, 1.00390625})}, {"y", vector({1, 1})}});
  EXPECT_EQ(errors[0], 0);
  EXPECT_EQ(errors[1], 0x1p-7);  // between two numbers of bf16
}

/// A kernel rounds a value of 16 bits where it stores it, and not where it goes on with it.
TEST(Bounded, ValuesOfSixteenBitsMayKeepTheirDigits) {
  const Numbers errors = errors_of(R"(graph @g(%x: f16[2], %y: f16[2]) {
  %0 = div %x, %y : f16[2]
  %1 = convert %0 : f32[2]
  return r = %1
})",
                                   {{"x", vector({0.239990234375, 1})}, {"y", vector({3, 2})}});
  EXPECT_GT(errors[0], 0x1p-16);  // 0.07999674 is 0.08001709 in f16
  EXPECT_LT(errors[0], 0x1p-14);
  EXPECT_LT(errors[1], 0x1p-11);
}

/// 1e30 * 1e30 overflows where these two are multiplied first, although 0 comes before them.
TEST(Bounded, ProductsAreOfAnyOrder) {
  constexpr std::string_view text =
      "graph @g(%x: f32[4]) { %0 = scan %x {axis = 0, kind = \"mul\"} : f32[4] return r = %0 }";
  EXPECT_EQ(errors_of(text, {{"x", vector({0, 1e30, 1e30, 2})}}), (Numbers{0, 0, kUnbounded, kUnbounded}));
  EXPECT_GE(errors_of(text, {{"x", vector({1e30, 1e-30, 1e-30, 1})}})[2], 1e-30);
  EXPECT_LT(errors_of(text, {{"x", vector({2, 3, 4, 5})}})[3], 1e-4);
}

}  // namespace
}  // namespace smelt
