// Which kernels wait for the launches in front of theirs: all of entries that keep tokens.
#include "codegen/launches/launch_passes.h"

#include <gtest/gtest.h>

#include "codegen/cuda/emit_cuda.h"
#include "tests/codegen/program_player.h"

namespace smelt {
namespace {

constexpr const char* kMap = R"(kernel @map(%x0: f32, out %y1: f32) column c0 = N {
  schedule {vector = 1, grain = 32, threads = 32, team = 32, flat = true}
  column {
    %0 = load %x0[c0] : f32
    store %y1[c0] = %0 : f32
  }
})";

/// An entry that runs the first kernel, and one that runs the second and writes buffer 2.
Program two_entries(Role role) {
  Program program;
  program.kernels = {parse_kernel(kMap), parse_kernel(kMap)};
  program.buffers.resize(3);
  program.buffers[2].role = role;
  program.entries.resize(2);
  for (int i = 0; i < 2; ++i)
    program.entries[static_cast<size_t>(i)].steps = {
        test::step_of(KernelStep{i, {{0, 0}, {1 + i, 0}}, {}}, {0}, {1 + i})};
  return program;
}

TEST(DependentLaunches, OfEntriesThatKeepTokens) {
  Program program = two_entries(Role::cache);
  EXPECT_TRUE(mark_dependent_launches(program));
  EXPECT_FALSE(program.kernels[0].waits) << "an entry that keeps none";
  EXPECT_TRUE(program.kernels[1].waits);
  EXPECT_FALSE(mark_dependent_launches(program)) << "nothing is left to mark";
  Program other = two_entries(Role::state);
  EXPECT_FALSE(mark_dependent_launches(other));
}

TEST(DependentLaunches, TheTextOfAKernelSaysSo) {
  Program program = two_entries(Role::cache);
  mark_dependent_launches(program);
  const Kernel again = parse_kernel(print(program.kernels[1]));
  EXPECT_TRUE(again.waits);
  const std::string text = emit_cuda(again);
  const size_t begin = text.find("__global__");
  EXPECT_LT(text.find("sm_wait_for_launches();", begin), text.find("x0[", begin)) << text;
  EXPECT_EQ(emit_cuda(program.kernels[0]).find("sm_wait_for_launches"), std::string::npos);
}

}  // namespace
}  // namespace smelt
