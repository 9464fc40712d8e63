#include "runtime/base/in_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/interrupt.h"

namespace smelt {
namespace {

TEST(InParallel, RunsEveryJobOnce) {
  for (const size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> runs(count);
    in_parallel(count, [&](size_t i) { ++runs[i]; });
    for (const auto& each : runs) EXPECT_EQ(each, 1);
  }
}

TEST(InParallel, ThrowsTheFailureOfAJob) {
  EXPECT_THROW(in_parallel(100,
                           [](size_t i) {
                             if (i == 40) fail("job {}", i);
                           }),
               Error);
}

TEST(InParallel, BeginsNoJobAfterAnInterruption) {
  const InterruptScope scope([] { fail("interrupted"); });
  std::atomic<int> begun = 0;
  const auto slow = [&](size_t) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_THROW(in_parallel(10000, slow), Error);
  EXPECT_LT(begun, 10000);
}

TEST(Interrupt, ScopesNestAndEnd) {
  int outer = 0, inner = 0;
  const auto poll = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    poll_interrupt();
  };
  {
    const InterruptScope first([&] { ++outer; });
    {
      const InterruptScope second([&] { ++inner; });
      poll();
    }
    poll();
  }
  poll();
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(inner, 1);
}

}  // namespace
}  // namespace smelt
