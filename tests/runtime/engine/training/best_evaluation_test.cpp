#include "runtime/engine/training/best_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

EvaluationRecord evaluation(int64_t step, double loss, Metrics metrics = {}) {
  return {.step = step, .loss = loss, .metrics = std::move(metrics)};
}

TEST(BestEvaluation, CountsEvaluationsAfterTheBest) {
  BestEvaluation best;
  EXPECT_FALSE(best.add(evaluation(0, 1))) << "before the first step";
  EXPECT_TRUE(best.add(evaluation(10, 5)));
  EXPECT_TRUE(best.add(evaluation(20, 4)));
  EXPECT_FALSE(best.add(evaluation(30, 4)));
  EXPECT_FALSE(best.add(evaluation(40, NAN)));
  EXPECT_EQ(best.without_improvement(), 2);
  EXPECT_EQ(best.step(), 20);
  EXPECT_EQ(best.value(), 4);
  EXPECT_TRUE(best.add(evaluation(50, 3)));
  EXPECT_EQ(best.without_improvement(), 0);
}

TEST(BestEvaluation, AccuracyIsBetterIfItIsHigherAndPerplexityIfItIsLower) {
  BestEvaluation accuracy("accuracy"), perplexity("perplexity");
  EXPECT_TRUE(accuracy.add(evaluation(1, 1, {{"accuracy", 0.5}})));
  EXPECT_FALSE(accuracy.add(evaluation(2, 0.5, {{"accuracy", 0.4}})));
  EXPECT_TRUE(perplexity.add(evaluation(1, 1, {{"perplexity", 9}})));
  EXPECT_TRUE(perplexity.add(evaluation(2, 1, {{"perplexity", 8}})));
}

TEST(BestEvaluation, WithoutTheMetricOfAnEarlierRunIsNotCounted) {
  BestEvaluation best("f1");
  best.restore(evaluation(1, 1));
  EXPECT_EQ(best.without_improvement(), 0);
  EXPECT_FALSE(best.value());
  best.restore(evaluation(2, 1, {{"f1", 0.5}}));
  best.restore(evaluation(3, 1, {{"f1", 0.4}}));
  EXPECT_EQ(best.value(), 0.5);
  EXPECT_EQ(best.without_improvement(), 1);
}

TEST(BestEvaluation, NamesTheMetricsThatThereAre) {
  BestEvaluation best("f1");
  EXPECT_HAS(message_of([&] { best.add(evaluation(0, 1, {{"perplexity", 9}})); }),
             "--metric f1: the evaluation of this model has no such metric; it has loss, perplexity");
}

}  // namespace
}  // namespace smelt
