#include "ir/evaluate/reduction.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/builder.h"
#include "runtime/error.h"

namespace smelt {
namespace {

template <ReduceOp op>
std::pair<double, double> fold(const std::vector<double>& x, size_t split) {
  using R = Reduction<op, double>;
  auto left = R::identity(), right = R::identity();
  for (size_t i = 0; i < x.size(); ++i) {
    auto& side = i < split ? left : right;
    side = R::combine(side, R::lift(x[i], static_cast<int64_t>(i)));
  }
  const auto whole = R::combine(left, right);
  return {R::finish(whole, 0), R::finish(whole, 1)};
}

/// Wherever a row is cut in two, and whichever half is combined first, the result is the same.
template <ReduceOp op>
void expect_monoid(int results) {
  std::mt19937_64 random(1);
  for (size_t size : {1u, 3u, 31u, 33u}) {
    std::vector<double> x;
    for (size_t i = 0; i < size; ++i) x.push_back(static_cast<double>(random() % 9) - 4);  // many ties
    const auto whole = fold<op>(x, size);
    for (size_t split = 0; split <= size; ++split) {
      const auto parts = fold<op>(x, split);
      EXPECT_NEAR(parts.first, whole.first, 1e-12) << name(op) << " at " << split;
      if (results > 1) {
        EXPECT_NEAR(parts.second, whole.second, 1e-12) << name(op) << " at " << split;
      }
    }
  }
}

TEST(Reduction, EveryRowIsAMonoid) {
#define SMELT_REDUCE_OP(name, results, ...) expect_monoid<ReduceOp::name>(results);
#include "ir/reduce_ops.def"
}

TEST(Reduction, IdentitiesChangeNothing) {
  using R = Reduction<ReduceOp::max_sumexp, double>;
  const auto one = R::lift(3, 0);
  EXPECT_EQ(R::combine(R::identity(), one).first, 3);
  EXPECT_EQ(R::combine(one, R::identity()).second, 1);
  using First = Reduction<ReduceOp::first, double>;
  EXPECT_EQ(First::combine(First::identity(), First::lift(-7, 4)).first, -7);
  EXPECT_EQ(First::combine(First::lift(5, 9), First::lift(-7, 4)).first, -7);
}

TEST(Reduction, APivotWantsFourColumns) {
  Module module;
  GraphBuilder b(module.add_graph("g"));
  const auto pivot = [&](const Dim& columns) {
    return b.reduce(ReduceOp::pivot, b.input("x", {DType::f32, {2, columns}}), {1});
  };
  EXPECT_NO_THROW(pivot(4));
  EXPECT_THROW(pivot(3), Error);
  EXPECT_THROW(pivot(Dim::symbol("T")), Error);
}

TEST(Reduction, APivotIsTheMeanOfFour) {
  using R = Reduction<ReduceOp::pivot, double>;
  auto state = R::identity();
  const double row[] = {1, 2, 4, 9, 100, -100};
  for (int i = 6; i-- > 0;) state = R::combine(state, R::lift(row[i], i));
  EXPECT_EQ(R::finish(state, 0), 4);
}

/// d/dx log(sum exp) is the softmax, through the online pair.
TEST(Reduction, TangentOfTheOnlinePair) {
  using D = Dual<double>;
  using R = Reduction<ReduceOp::max_sumexp, D>;
  const double x[] = {0.3, -1.2, 2.0, 2.0};
  double total = 0;
  for (double each : x) total += std::exp(each);
  for (int along = 0; along < 4; ++along) {
    auto state = R::identity();
    for (int i = 0; i < 4; ++i) state = R::combine(state, R::lift(D(x[i], i == along), i));
    const D lse = math::log(state.second) + state.first;
    EXPECT_NEAR(lse.value, std::log(total), 1e-14);
    EXPECT_NEAR(lse.tangent, std::exp(x[along]) / total, 1e-14);
  }
}

TEST(Reduction, WorksInFloat) {
  using R = Reduction<ReduceOp::argmax, float>;
  auto state = R::identity();
  for (int i = 0; i < 5; ++i) state = R::combine(state, R::lift(i == 3 ? 2.0f : 1.0f, i));
  EXPECT_EQ(R::finish(state, 0), 2.0f);
  EXPECT_EQ(R::finish(state, 1), 3.0f);
}

}  // namespace
}  // namespace smelt
