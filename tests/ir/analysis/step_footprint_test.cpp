// What steps are said to touch where kernels look elements up.
#include "ir/analysis/step_footprint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace smelt {
namespace {

/// A kernel that reads rows of a table, whose place in buffer 0 is `at`; `table` is what it says of its end.
Program program_of_lookup(const char* table, const char* at) {
  return parse_program(fmt::format(R"(symbols B <= 4
buffer 0 "flat" {{role = temporary}} : f32[4096]
buffer 1 "ids" {{role = temporary}} : i32[B]
buffer 2 "y" {{role = temporary}} : f32[8*B]
kernel @lookup(%x: f32{0}, %ids: i32, out %y: f32)
    parallel r0 = B, column c0 = 8 {{
  row {{
    %0 = load %ids[r0] : i32
  }}
  column {{
    %1 = load %x[c0 + %0*8] : f32
    store %y[r0*8 + c0] = %1 : f32
  }}
}}
entry @g {{
  launch @lookup(#0{1}, #1, #2) {{reads = [0, 1], writes = [2]}}
}}
)",
                                   table, at));
}

Touch touch_of_table(const char* table, const char* at) {
  const Program program = program_of_lookup(table, at);
  for (const Touch& touch : footprint(program, program.entries[0].steps[0]))
    if (touch.memory == 0) return touch;
  return {};
}

TEST(StepFootprint, ATableEndsWhereItsKernelSays) {
  const Touch touch = touch_of_table(" table 80", "[128]");
  EXPECT_EQ(touch.begin, 128);
  EXPECT_EQ(touch.end, 128 + 80);
  EXPECT_FALSE(touch.written);
}

TEST(StepFootprint, ATableOfABatchEndsAtItsBound) { EXPECT_EQ(touch_of_table(" table 10*B", "").end, 40); }

TEST(StepFootprint, NothingIsKnownOfOtherTables) {
  const Touch touch = touch_of_table("", "[128]");
  EXPECT_EQ(touch.begin, 0);
  EXPECT_GT(touch.end, 4096);
  EXPECT_GT(touch_of_table(" table 80", "[8*B]").end, 4096) << "its place is not fixed";
}

}  // namespace
}  // namespace smelt
