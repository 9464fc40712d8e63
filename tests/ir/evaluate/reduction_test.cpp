#include "ir/evaluate/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/graph/builder.h"
#include "ir/kernel/reduction_code.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

template <ReduceOp op>
std::vector<double> fold(const std::vector<double>& x, size_t split) {
  using R = Reduction<op, double>;
  auto left = R::identity(), right = R::identity();
  for (size_t i = 0; i < x.size(); ++i) {
    auto& side = i < split ? left : right;
    side = R::combine(side, R::lift(x[i], static_cast<double>(i)));
  }
  const auto results = R::finish(R::combine(left, right));
  return {results.begin(), results.end()};
}

/// Wherever a row is cut in two, and whichever half is combined first, the result is the same.
template <ReduceOp op>
void expect_monoid() {
  std::mt19937_64 random(1);
  for (size_t size : {1u, 3u, 31u, 33u}) {
    std::vector<double> x;
    for (size_t i = 0; i < size; ++i) x.push_back(static_cast<double>(random() % 9) - 4);  // many ties
    const auto whole = fold<op>(x, size);
    for (size_t split = 0; split <= size; ++split) {
      const auto parts = fold<op>(x, split);
      ASSERT_EQ(parts.size(), info(op).results.size());
      for (size_t i = 0; i < parts.size(); ++i)
        EXPECT_NEAR(parts[i], whole[i], 1e-12) << name(op) << ", result " << i << " at " << split;
    }
  }
}

TEST(Reduction, EveryRowIsAMonoid){
#define SMELT_MONOID(name) expect_monoid<ReduceOp::name>();
    SMELT_REDUCE_OPS(SMELT_MONOID)
#undef SMELT_MONOID
}

TEST(Reduction, IdentitiesChangeNothing) {
  using R = Reduction<ReduceOp::max_sumexp, double>;
  const auto one = R::lift(3, 0);
  EXPECT_EQ(R::combine(R::identity(), one)[0], 3);
  EXPECT_EQ(R::combine(one, R::identity())[1], 1);
  using First = Reduction<ReduceOp::first, double>;
  EXPECT_EQ(First::combine(First::identity(), First::lift(-7, 4))[0], -7);
  EXPECT_EQ(First::combine(First::lift(5, 9), First::lift(-7, 4))[0], -7);
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
  EXPECT_EQ(R::finish(state)[0], 4);
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
    for (int i = 0; i < 4; ++i) state = R::combine(state, R::lift(D(x[i], i == along), D(i)));
    const D lse = math::log(state[1]) + state[0];
    EXPECT_NEAR(lse.value, std::log(total), 1e-14);
    EXPECT_NEAR(lse.tangent, std::exp(x[along]) / total, 1e-14);
  }
}

/// Far from zero too, where the mean of squares less the square of the mean has no digits left.
TEST(Reduction, TheVarianceIsThatOfTwoPasses) {
  using R = Reduction<ReduceOp::mean_variance, float>;
  for (float offset : {0.0f, 10000.0f}) {
    auto state = R::identity();
    for (int i = 0; i < 8; ++i)
      state = R::combine(state, R::lift(offset + static_cast<float>(i % 4), static_cast<float>(i)));
    EXPECT_NEAR(R::finish(state)[0], offset + 1.5f, 1e-2f);
    EXPECT_NEAR(R::finish(state)[1], 1.25f, 1e-2f) << "around " << offset;
  }
}

/// Steps that generators of code translate: those of a state or of a result, none of them there twice.
TEST(Reduction, CodeGivesEveryScalarOnce) {
  for (const ReduceOp op : {
#define SMELT_OP_OF(name) ReduceOp::name,
           SMELT_REDUCE_OPS(SMELT_OP_OF)
#undef SMELT_OP_OF
       }) {
    const ReductionCode& code = reduction_code(op);
    for (const ReductionFunction* function : {&code.identity, &code.lift, &code.combine}) {
      EXPECT_EQ(function->results.size(), info(op).state.size()) << name(op);
      for (size_t i = 0; i < function->steps.size(); ++i)
        EXPECT_EQ(std::ranges::count(function->steps, function->steps[i]), 1) << name(op);
    }
    EXPECT_EQ(code.finish.size(), info(op).results.size()) << name(op);
  }
  EXPECT_TRUE(reduction_code(ReduceOp::argmax).reads_place());
  EXPECT_FALSE(reduction_code(ReduceOp::mean_variance).reads_place());
}

/// exp(l0 - m) and exp(r0 - m) share their m.
TEST(Reduction, CodeNamesWhatItNeedsTwiceOnce) {
  const auto maxima =
      std::ranges::count_if(reduction_code(ReduceOp::max_sumexp).combine.steps, [](const auto& step) {
        return step.kind == ReductionStep::Kind::operation && step.op == ScalarOp::max;
      });
  EXPECT_EQ(maxima, 1);
}

TEST(Reduction, WorksInFloat) {
  using R = Reduction<ReduceOp::argmax, float>;
  auto state = R::identity();
  for (int i = 0; i < 5; ++i) state = R::combine(state, R::lift(i == 3 ? 2.0f : 1.0f, static_cast<float>(i)));
  EXPECT_EQ(R::finish(state)[0], 2.0f);
  EXPECT_EQ(R::finish(state)[1], 3.0f);
}

}  // namespace
}  // namespace smelt
