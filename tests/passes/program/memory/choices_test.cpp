// Ordering and memory of steps that are alternatives of one another.
#include <gtest/gtest.h>

#include "passes/program/memory/memory_passes.h"
#include "passes/program/memory/plan_memory.h"

namespace smelt {
namespace {

/// in -> x -> (y by u alone | y by v and w) -> out, with z, which nothing needs early, written in front.
constexpr std::string_view kProgram = R"(
buffer 0 "in" {role = input} : f32[1000]
buffer 1 "x" : f32[1000]
buffer 2 "u" : f32[3600]
buffer 3 "v" : f32[2000]
buffer 4 "w" : f32[1000]
buffer 5 "y" : f32[1000]
buffer 6 "z" : f32[4000]
buffer 7 "out" {role = output} : f32[1000]
entry @e {
  choice ["one", "other"]
  fill #6 = 1.0 of 4000 {writes = [6]}
  fill #1 = 1.0 of 1000 {reads = [0], writes = [1]}
  fill #2 = 1.0 of 3600 {reads = [1], writes = [2], choice = [0, 0]}
  fill #5 = 1.0 of 1000 {reads = [2], writes = [5], choice = [0, 0]}
  fill #3 = 1.0 of 2000 {writes = [3], choice = [0, 1]}
  fill #4 = 1.0 of 1000 {reads = [3], writes = [4], choice = [0, 1]}
  fill #5 = 1.0 of 1000 {reads = [4], writes = [5], choice = [0, 1]}
  fill #7 = 1.0 of 1000 {reads = [5, 6], writes = [7]}
}
)";

int step_that_writes(const Program& program, int buffer) {
  const std::vector<Step>& steps = program.entries[0].steps;
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].writes[0] == buffer) return static_cast<int>(i);
  return -1;
}

TEST(Choices, StayTogetherWhereStepsMove) {
  Program program = parse_program(kProgram);
  order_steps(program, {});
  const std::vector<Step>& steps = program.entries[0].steps;
  const int first = step_that_writes(program, 2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(steps[static_cast<size_t>(first + i)].choice, 0) << i;
    EXPECT_EQ(steps[static_cast<size_t>(first + i)].alternative, i < 2 ? 0 : 1) << i;
  }
  EXPECT_LT(step_that_writes(program, 1), first);
}

/// What the first alternative reads is there when it runs again after the others.
TEST(Choices, KeepWhatTheyRead) {
  Program program = parse_program(kProgram);
  plan_memory(program, {});
  const Buffer &x = program.buffers[1], &v = program.buffers[3], &w = program.buffers[4];
  EXPECT_EQ(x.last_step, 6);
  for (const Buffer* own : {&v, &w})
    EXPECT_TRUE(own->offset_bytes >= x.offset_bytes + x.bytes ||
                x.offset_bytes >= own->offset_bytes + own->bytes);
}

TEST(Choices, AlternativesHaveTheSameRoom) {
  Program program = parse_program(kProgram);
  plan_memory(program, {});
  EXPECT_EQ(program.buffers[2].offset_bytes, program.buffers[3].offset_bytes) << "u and v";
  const int64_t arena = program.entries[0].arena_bytes;
  Program without = parse_program(kProgram);
  std::vector<Step>& steps = without.entries[0].steps;
  std::erase_if(steps, [](const Step& step) { return step.alternative == 1; });
  plan_memory(without, {});
  EXPECT_EQ(arena, without.entries[0].arena_bytes) << "the larger one's, as if it were alone";
}

}  // namespace
}  // namespace smelt
