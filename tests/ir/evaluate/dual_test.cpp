#include "ir/evaluate/dual.h"

#include <gtest/gtest.h>

#include "ir/evaluate/scalar_reference.h"

namespace smelt {
namespace {

constexpr double kDualNan = std::numeric_limits<double>::quiet_NaN();

struct Row {
  ScalarOp op;
  std::string_view name;
  int arity;
};
constexpr Row kRows[] = {
#define SMELT_ROW(name, arity) {ScalarOp::name, #name, arity},
    SMELT_SCALAR_OPS(SMELT_ROW)
#undef SMELT_ROW
};

/// Arguments inside every function's domain (logarithms and roots), away from jumps and kinks.
constexpr double kArguments[][3] = {{0.7, 0.4, 1.3}, {1.9, 2.2, 0.6}, {0.31, 1.7, 2.45}, {2.6, 0.9, 0.2}};

/// The tangent of every scalar op along every operand equals the central difference.
TEST(Dual, TangentsEqualCentralDifferences) {
  constexpr double h = 1e-5;
  for (const Row& row : kRows)
    for (const auto& at : kArguments)
      for (int along = 0; along < row.arity; ++along) {
        double above[3] = {at[0], at[1], at[2]}, below[3] = {at[0], at[1], at[2]};
        Dual<double> x[3] = {at[0], at[1], at[2]};
        above[along] += h, below[along] -= h, x[along].tangent = 1;
        const double slope =
            (apply(row.op, above[0], above[1], above[2]) - apply(row.op, below[0], below[1], below[2])) /
            (2 * h);
        const Dual<double> y = apply(row.op, x[0], x[1], x[2]);
        EXPECT_NEAR(y.tangent, slope, 1e-8 * (1 + std::fabs(slope)))
            << row.name << " along operand " << along;
        EXPECT_EQ(y.value, apply(row.op, at[0], at[1], at[2])) << row.name;
      }
}

/// At negative arguments too, where the function is defined there.
TEST(Dual, TangentsAtNegativeArguments) {
  constexpr double h = 1e-5;
  for (const Row& row : kRows)
    for (double a : {-0.3, -1.2, -2.7}) {
      if (row.arity > 1 || a - h <= info(row.op).above) continue;
      const double slope = (apply(row.op, a + h) - apply(row.op, a - h)) / (2 * h);
      EXPECT_NEAR(apply(row.op, Dual<double>(a, 1)).tangent, slope, 1e-7 * (1 + std::fabs(slope)))
          << row.name;
    }
}

TEST(Dual, ArithmeticMixesWithNumbers) {
  const Dual<double> x(3, 1);
  EXPECT_EQ((x * x + 2.0 * x - 1.0).value, 14);
  EXPECT_EQ((x * x + 2.0 * x - 1.0).tangent, 8);
  EXPECT_EQ((1.0 / x).tangent, -1.0 / 9);
  EXPECT_EQ((-x).tangent, -1);
}

TEST(Scalar, NanPropagatesThroughMaxAndMin) {
  for (ScalarOp op : {ScalarOp::max, ScalarOp::min}) {
    EXPECT_TRUE(std::isnan(apply(op, kDualNan, 1.0))) << name(op);
    EXPECT_TRUE(std::isnan(apply(op, 1.0, kDualNan))) << name(op);
  }
  EXPECT_EQ(apply(ScalarOp::max, 2.0, 1.0), 2);
  EXPECT_EQ(apply(ScalarOp::min, 2.0, 1.0), 1);
}

TEST(Scalar, OfEqualsEachPassesHalfOfItsTangent) {
  const Dual<double> a(1, 10), b(1, 20);
  EXPECT_EQ(apply(ScalarOp::max, a, b).tangent, 15);
  EXPECT_EQ(apply(ScalarOp::min, a, b).tangent, 15);
}

TEST(Scalar, FlagsAndChoices) {
  EXPECT_EQ(apply(ScalarOp::lt, 1.0, 2.0), 1);
  EXPECT_EQ(apply(ScalarOp::ge, 1.0, 2.0), 0);
  EXPECT_EQ(apply(ScalarOp::ne, kDualNan, kDualNan), 1);
  EXPECT_EQ(apply(ScalarOp::eq, kDualNan, kDualNan), 0);
  EXPECT_EQ(apply(ScalarOp::logical_and, 1.0, 0.0), 0);
  EXPECT_EQ(apply(ScalarOp::logical_or, 1.0, 0.0), 1);
  EXPECT_EQ(apply(ScalarOp::logical_not, 0.0), 1);
  EXPECT_EQ(apply(ScalarOp::select, 1.0, 5.0, 6.0), 5);
  EXPECT_EQ(apply(ScalarOp::select, 0.0, 5.0, 6.0), 6);
  EXPECT_EQ(apply(ScalarOp::sign, -0.5), -1);
  EXPECT_EQ(apply(ScalarOp::sign, 0.0), 0);
  EXPECT_TRUE(std::isnan(apply(ScalarOp::sign, kDualNan)));
}

TEST(Scalar, SelectIgnoresWhatItDoesNotChoose) {
  EXPECT_EQ(apply(ScalarOp::select, 0.0, kDualNan, 6.0), 6);
  EXPECT_EQ(apply(ScalarOp::select, Dual<double>(1, 9), Dual<double>(5, 2), Dual<double>(kDualNan, kDualNan))
                .tangent,
            2);
}

}  // namespace
}  // namespace smelt
