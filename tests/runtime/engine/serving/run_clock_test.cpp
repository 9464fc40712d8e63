#include "runtime/engine/serving/run_clock.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

using std::chrono::microseconds;

constexpr RunClock::Time kFirstResult{std::chrono::seconds(100)};

/// Returns a clock that has got results after these times, and the time of the last one.
std::pair<RunClock, RunClock::Time> clock_after(std::initializer_list<int> times) {
  RunClock clock;
  RunClock::Time now = kFirstResult;
  clock.take(now);
  for (const int time : times) clock.take(now += microseconds(time));
  return {clock, now};
}

/// Some runs take longer, because an encoder has run before them.
TEST(RunClock, CountsOnTheShortestOfTheLastRuns) {
  const auto [clock, now] = clock_after({1, 2000, 2600, 2000, 2900, 2010, 2000, 2600, 2000});
  EXPECT_EQ(clock.start_due(1), now + microseconds(2000 - 500)) << "a quarter of a run is left";
  EXPECT_EQ(clock.start_due(2), now + microseconds(4000 - 500));
}

TEST(RunClock, LeavesTimeToStartShortRuns) {
  const auto [clock, now] = clock_after({680, 680, 680, 680, 680, 680, 680, 680});
  EXPECT_EQ(clock.start_due(1), now + microseconds(680 - 300));
  const auto [fast, end] = clock_after({50, 50, 50, 50, 50, 50, 50, 50});
  EXPECT_LT(fast.start_due(1), end);
}

TEST(RunClock, KnowsNothingOfTheFirstRuns) {
  EXPECT_EQ(RunClock().start_due(1), RunClock::Time::min());
  EXPECT_EQ(clock_after({680, 680, 680, 680, 680, 680, 680}).first.start_due(1), RunClock::Time::min());
}

/// The time without a run is not that of a run.
TEST(RunClock, BeginsAgainAfterARest) {
  auto [clock, now] = clock_after({680, 680, 680, 680, 680, 680, 680, 680});
  clock.rest();
  EXPECT_EQ(clock.start_due(1), RunClock::Time::min());
  clock.take(now += microseconds(10));
  EXPECT_EQ(clock.start_due(1), now + microseconds(380));
}

}  // namespace
}  // namespace smelt
