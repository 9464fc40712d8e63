#include "passes/program/memory/memory_passes.h"

#include <gtest/gtest.h>

#include "ir/program/program.h"

namespace smelt {
namespace {

/// Forward reads a layer (buffer 1) and a head (2), backward the head (3) and the layer (4).
constexpr const char* kLayerAndHead = R"(mesh {data = 2}
state "p" {role = parameter, whole = [2,8]} : f32[2,4] on [-, data]
buffer 0 "p" {role = parameter, state = 0} : f32[8]
buffer 1 "layer" {role = temporary} : f32[8]
buffer 2 "head" {role = temporary} : f32[8]
buffer 3 "head again" {role = temporary} : f32[8]
buffer 4 "layer again" {role = temporary} : f32[8]
buffer 5 "out" {role = output} : f32[32]
entry @g {
  collective all_gather f32 #1 = #0 of 4 over data x 2 {reads = [0], writes = [1]}
  copy f32[8] #5(1) = #1(1) {reads = [1], writes = [5]}
  collective all_gather f32 #2 = #0[4] of 4 over data x 2 {reads = [0], writes = [2]}
  copy f32[8] #5[8](1) = #2(1) {reads = [2], writes = [5]}
  collective all_gather f32 #3 = #0[4] of 4 over data x 2 {reads = [0], writes = [3]}
  copy f32[8] #5[16](1) = #3(1) {reads = [3], writes = [5]}
  collective all_gather f32 #4 = #0 of 4 over data x 2 {reads = [0], writes = [4]}
  copy f32[8] #5[24](1) = #4(1) {reads = [4], writes = [5]}
}
)";

std::string steps_of(const Program& program) {
  const std::string text = print(program);
  return text.substr(text.find("entry"));
}

TEST(JoinGathers, OfWhatIsReadLastAndThenFirst) {
  Program program = parse_program(kLayerAndHead);
  EXPECT_TRUE(join_gathers(program));
  EXPECT_EQ(steps_of(program), R"(entry @g {
  collective all_gather f32 #1 = #0 of 4 over data x 2 {reads = [0], writes = [1]}
  copy f32[8] #5(1) = #1(1) {reads = [1], writes = [5]}
  collective all_gather f32 #2 = #0[4] of 4 over data x 2 {reads = [0], writes = [2]}
  copy f32[8] #5[8](1) = #2(1) {reads = [2], writes = [5]}
  copy f32[8] #5[16](1) = #2(1) {reads = [2], writes = [5]}
  collective all_gather f32 #4 = #0 of 4 over data x 2 {reads = [0], writes = [4]}
  copy f32[8] #5[24](1) = #4(1) {reads = [4], writes = [5]}
}
)");
  EXPECT_FALSE(join_gathers(program)) << "the head is read between the layer's steps";
}

TEST(JoinGathers, NotOverAnUpdate) {
  std::string text = kLayerAndHead;
  const std::string again = "  collective all_gather f32 #3";
  text.insert(text.find(again), "  fill #0 = 1.0 of 8 {writes = [0]}\n");
  Program program = parse_program(text);
  EXPECT_FALSE(join_gathers(program));
}

/// One bucket for both: it is held for the layer anyway until the head is read, but the layer's part of it
/// would be held from there on.
TEST(JoinGathers, CountsWhatIsReadOfTheSameBuffer) {
  Program program = parse_program(R"(mesh {data = 2}
state "p" {role = parameter, whole = [2,8]} : f32[2,4] on [-, data]
buffer 0 "p" {role = parameter, state = 0} : f32[8]
buffer 1 "both" {role = temporary} : f32[16]
buffer 2 "both again" {role = temporary} : f32[16]
buffer 3 "out" {role = output} : f32[32]
entry @g {
  collective all_gather f32 #1 = #0 of 4 over data x 2 {reads = [0], writes = [1]}
  copy f32[8] #3(1) = #1(1) {reads = [1], writes = [3]}
  collective all_gather f32 #1[8] = #0[4] of 4 over data x 2 {reads = [0], writes = [1]}
  copy f32[8] #3[8](1) = #1[8](1) {reads = [1], writes = [3]}
  collective all_gather f32 #2[8] = #0[4] of 4 over data x 2 {reads = [0], writes = [2]}
  copy f32[8] #3[16](1) = #2[8](1) {reads = [2], writes = [3]}
  collective all_gather f32 #2 = #0 of 4 over data x 2 {reads = [0], writes = [2]}
  copy f32[8] #3[24](1) = #2(1) {reads = [2], writes = [3]}
}
)");
  EXPECT_FALSE(join_gathers(program));
}

}  // namespace
}  // namespace smelt
