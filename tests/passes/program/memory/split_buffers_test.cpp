#include "passes/program/memory/memory_passes.h"

#include <gtest/gtest.h>

#include "ir/program/program.h"
#include "passes/program/memory/plan_memory.h"

namespace smelt {
namespace {

/// Two buckets of parameters (buffer 1), each read by a step of its own; two of gradients (buffer 3), of
/// which two steps make the second.
constexpr const char* kTwoStretches = R"(mesh {data = 2}
state "p" {role = parameter, whole = [2,8]} : f32[2,4] on [-, data]
buffer 0 "p" {role = parameter, state = 0} : f32[8]
buffer 1 "gathered" {role = temporary} : f32[16]
buffer 2 "y" {role = temporary} : f32[16]
buffer 3 "gradient" {role = temporary} : f32[16]
buffer 4 "sum" {role = output} : f32[8]
entry @g {
  collective all_gather f32 #1 = #0 of 4 over data x 2 {reads = [0], writes = [1]}
  copy f32[8] #2(1) = #1(1) {sources = ["first"], reads = [1], writes = [2]}
  collective all_gather f32 #1[8] = #0[4] of 4 over data x 2 {reads = [0], writes = [1]}
  copy f32[8] #2[8](1) = #1[8](1) {sources = ["second"], reads = [1], writes = [2]}
  copy f32[6] #3[8](1) = #2[8](1) {sources = ["second"], reads = [2], writes = [3]}
  fill #3[14] = 0.0 of 2 {writes = [3]}
  collective reduce_scatter add f32 #4[4] = #3[8] of 4 over data x 2 {reads = [3], writes = [4]}
  copy f32[8] #3(1) = #2(1) {sources = ["first"], reads = [2], writes = [3]}
  collective reduce_scatter add f32 #4 = #3 of 4 over data x 2 {reads = [3], writes = [4]}
}
)";

std::string steps_in(const Program& program) {
  const std::string text = print(program);
  return text.substr(text.find("entry"));
}

TEST(SplitBuffers, MakesABufferOfEachStretch) {
  Program program = parse_program(kTwoStretches);
  EXPECT_TRUE(split_buffers(program));
  ASSERT_EQ(program.buffers.size(), 9u);
  for (const size_t i : {5, 6, 7, 8}) EXPECT_EQ(program.buffers[i].elements, Dim(8)) << i;
  EXPECT_EQ(program.buffers[5].name, "first (gathered)");
  EXPECT_EQ(program.buffers[6].name, "second (gathered)");
  EXPECT_EQ(program.buffers[8].name, "second (to be summed)");
  EXPECT_EQ(steps_in(program), R"(entry @g {
  collective all_gather f32 #5 = #0 of 4 over data x 2 {reads = [0], writes = [5]}
  copy f32[8] #2(1) = #5(1) {sources = ["first"], reads = [5], writes = [2]}
  collective all_gather f32 #6 = #0[4] of 4 over data x 2 {reads = [0], writes = [6]}
  copy f32[8] #2[8](1) = #6(1) {sources = ["second"], reads = [6], writes = [2]}
  copy f32[6] #8(1) = #2[8](1) {sources = ["second"], reads = [2], writes = [8]}
  fill #8[6] = 0.0 of 2 {writes = [8]}
  collective reduce_scatter add f32 #4[4] = #8 of 4 over data x 2 {reads = [8], writes = [4]}
  copy f32[8] #7(1) = #2(1) {sources = ["first"], reads = [2], writes = [7]}
  collective reduce_scatter add f32 #4 = #7 of 4 over data x 2 {reads = [7], writes = [4]}
}
)");
  plan_memory(program, {});
  EXPECT_FALSE(split_buffers(program)) << "each is one stretch";
}

TEST(SplitBuffers, LeavesWhatAStepReachesAcross) {
  std::string text = kTwoStretches;
  const std::string reader = "copy f32[8] #2[8](1) = #1[8](1)";
  text.replace(text.find(reader), reader.size(), "copy f32[9] #2[7](1) = #1[7](1)");
  Program program = parse_program(text);
  EXPECT_TRUE(split_buffers(program));
  EXPECT_EQ(program.buffers.size(), 7u) << "of gradients alone";
  EXPECT_NE(steps_in(program).find("#2[7](1) = #1[7](1)"), std::string::npos);
}

TEST(SplitBuffers, LeavesProgramsOfOneRank) {
  std::string text = kTwoStretches;
  Program program = parse_program(text);
  program.mesh = {};
  EXPECT_FALSE(split_buffers(program));
}

}  // namespace
}  // namespace smelt
