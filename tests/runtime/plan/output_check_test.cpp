// Outputs are returned as they were made.
#include "runtime/plan/plan_checks.h"

#include <gtest/gtest.h>

#include "tests/runtime/example_plan.h"
#include "tests/runtime/plan/validation_fault.h"

namespace smelt {
namespace {

using example::y;
using testing::validation_fault;

/// The example with one more step, which writes `elements` of the output y from `begin` on.
Plan with_late_step(Dim begin, Dim elements, std::vector<int> reads) {
  Plan plan = example::plan();
  plan.entries[0].steps.push_back(
      example::step(FillStep{{y, std::move(begin)}, std::move(elements), 0}, std::move(reads), {y}, "late"));
  for (Buffer& buffer : plan.buffers)
    if (in_arena(buffer.role)) ++buffer.last_step;
  return plan;
}

TEST(OutputCheck, AnOutputIsNotWrittenAfterItWasMade) {
  const std::string fault = validation_fault(with_late_step(0, 3, {}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "(fill late) writes over elements of output 'y', buffer 'y'",
                      fault);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "(gemm", fault);
}

TEST(OutputCheck, OneElementIsSeen) {
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "writes over elements of output 'y'",
                      validation_fault(with_late_step(2, 1, {})));
}

TEST(OutputCheck, WhatAStepAlsoReadsItChangesInPlace) {
  EXPECT_EQ(validation_fault(with_late_step(0, 3, {y})), "accepted");
}

TEST(OutputCheck, NothingIsWrittenWhereNothingIs) {
  EXPECT_EQ(validation_fault(with_late_step(0, 0, {})), "accepted");
}

}  // namespace
}  // namespace smelt
