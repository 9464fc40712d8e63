#include "runtime/engine/training/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr ScheduleKind kAll[] = {
    ScheduleKind::constant,           ScheduleKind::linear,     ScheduleKind::cosine,
    ScheduleKind::inverse_sqrt,       ScheduleKind::polynomial, ScheduleKind::cosine_with_restarts,
    ScheduleKind::warmup_stable_decay};

TEST(Schedule, NamesRoundTrip) {
  for (const ScheduleKind kind : kAll) EXPECT_EQ(parse_schedule(name(kind)), kind);
  EXPECT_FALSE(parse_schedule("quadratic"));
  EXPECT_EQ(parse_schedule("cosine_with_restarts"), ScheduleKind::cosine_with_restarts);
}

TEST(Schedule, WarmUpRisesToThePeakAndIsContinuous) {
  for (const ScheduleKind kind : kAll) {
    const LearningRate s{kind, 0.5, 0.01, 10, 100};
    EXPECT_DOUBLE_EQ(s.at(0), 0.05) << name(kind);
    EXPECT_DOUBLE_EQ(s.at(4), 0.25) << name(kind);
    EXPECT_DOUBLE_EQ(s.at(9), 0.5) << name(kind);
    EXPECT_NEAR(s.at(10), 0.5, 0.025) << name(kind);
  }
}

TEST(Schedule, DecaysToTheMinimumAndStays) {
  for (const ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
    const LearningRate s{kind, 0.5, 0.1, 10, 110};
    EXPECT_DOUBLE_EQ(s.at(10), 0.5);
    EXPECT_NEAR(s.at(60), 0.3, 1e-12);  // half way: the mean of both ends
    EXPECT_DOUBLE_EQ(s.at(110), 0.1);
    EXPECT_DOUBLE_EQ(s.at(100000), 0.1);
    for (int64_t i = 10; i < 110; ++i) EXPECT_GE(s.at(i), s.at(i + 1));
  }
}

TEST(Schedule, CosineIsSlowAtBothEnds) {
  const LearningRate s{ScheduleKind::cosine, 1, 0, 0, 100};
  EXPECT_NEAR(s.at(25), 0.5 + 0.5 * std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(s.at(75), 0.5 - 0.5 * std::sqrt(0.5), 1e-12);
}

TEST(Schedule, InverseSquareRootHalvesInFourTimesTheSteps) {
  const LearningRate s{ScheduleKind::inverse_sqrt, 1, 0.05, 100, 1000};
  EXPECT_DOUBLE_EQ(s.at(399), 0.5);
  EXPECT_DOUBLE_EQ(s.at(1599), 0.25);
  EXPECT_DOUBLE_EQ(s.at(10'000'000), 0.05);
}

// The expected rates of the next three tests are those of transformers 5.24's schedules
// (get_polynomial_decay_schedule_with_warmup with lr_end 0.05, ..., get_wsd_schedule).
TEST(Schedule, PolynomialFallsWithAPower) {
  const LearningRate s{ScheduleKind::polynomial, 0.5, 0.05, 10, 110, 2};
  EXPECT_DOUBLE_EQ(s.at(10), 0.5);
  EXPECT_NEAR(s.at(60), 0.05 + 0.45 * 0.25, 1e-12);
  EXPECT_NEAR(s.at(85), 0.05 + 0.45 * 0.0625, 1e-12);
  EXPECT_DOUBLE_EQ(s.at(110), 0.05);
}

TEST(Schedule, CosineRestartsAtThePeak) {
  const LearningRate s{ScheduleKind::cosine_with_restarts, 0.5, 0, 10, 110, 1, 4};
  for (const int64_t begin : {10, 35, 60, 85}) {
    EXPECT_DOUBLE_EQ(s.at(begin), 0.5);
    EXPECT_NEAR(s.at(begin + 5), 0.25 * (1 + std::cos(M_PI / 5)), 1e-12);
    EXPECT_LT(s.at(begin + 24), 0.01);
  }
  EXPECT_EQ(s.at(110), 0);
}

TEST(Schedule, WarmupStableDecayFallsInItsLastSteps) {
  const LearningRate s{ScheduleKind::warmup_stable_decay, 0.5, 0.1, 10, 110, 1, 1, 20};
  for (const int64_t step : {10, 50, 90}) EXPECT_DOUBLE_EQ(s.at(step), 0.5);
  EXPECT_NEAR(s.at(100), 0.3, 1e-12);
  EXPECT_DOUBLE_EQ(s.at(110), 0.1);
}

TEST(Schedule, ConstantWithoutWarmUp) {
  const LearningRate s{ScheduleKind::constant, 0.25, 0, 0, 10};
  for (const int64_t step : {0, 5, 9, 1000}) EXPECT_DOUBLE_EQ(s.at(step), 0.25);
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  const auto fault = [](LearningRate s) { return message_of([&] { s.validate(); }); };
  EXPECT_HAS(fault({ScheduleKind::linear, -1, 0, 0, 10}), "-1");
  EXPECT_HAS(fault({ScheduleKind::linear, NAN, 0, 0, 10}), "positive");
  EXPECT_HAS(fault({ScheduleKind::linear, 1, 2, 0, 10}), "minimum learning rate 2");
  EXPECT_HAS(fault({ScheduleKind::linear, 1, 0, 11, 10}), "longer than the training of 10");
  EXPECT_HAS(fault({ScheduleKind::polynomial, 1, 0, 0, 10, 0}), "power 0 of the schedule");
  EXPECT_HAS(fault({ScheduleKind::cosine_with_restarts, 1, 0, 0, 10, 1, 0}), "0 cycles of the schedule");
  EXPECT_HAS(fault({ScheduleKind::warmup_stable_decay, 1, 0, 6, 10, 1, 1, 5}),
             "a warm-up of 6 steps and a decay of 5: expected at most the 10 steps of the training");
}

}  // namespace
}  // namespace smelt
