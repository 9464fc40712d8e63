// Steps that become one launch whose blocks run several kernels: programs hold the same in the end, and what
// must not move stays.
#include "codegen/launches/launch_passes.h"

#include <gtest/gtest.h>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/make_plan.h"
#include "tests/codegen/program_player.h"

namespace smelt {
namespace {

using test::ProgramPlayer;

/// Each of its kernels has a block's worth of threads.
void set_threads(Program& program) {
  for (Kernel& kernel : program.kernels) {
    kernel.schedule.flat = true, kernel.schedule.vector_width = 1;
    kernel.schedule.threads = kernel.schedule.team = 32, kernel.schedule.grain = 32;
  }
}

class SideBySide : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SideBySide, LeavesTheSameInMemory) {
  Program program = test::random_launches(GetParam(), 60, 8);
  for (const size_t i : {0, 1}) program.states[i].role = program.buffers[i].role = Role::cache;
  set_threads(program);
  const auto expected = ProgramPlayer(program).play(program.entries[0]);
  const size_t steps = program.entries[0].steps.size();
  ASSERT_TRUE(run_side_by_side(program));
  EXPECT_LT(program.entries[0].steps.size(), steps);
  EXPECT_EQ(ProgramPlayer(program).play(program.entries[0]), expected);
  for (const Step& step : program.entries[0].steps)
    if (const auto* launch = std::get_if<KernelStep>(&step.what)) {
      EXPECT_EQ(launch->arguments.size(), program.kernels[static_cast<size_t>(launch->kernel)].arguments());
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SideBySide, ::testing::Range<uint64_t>(0, 40));

/// Maps from buffer 0 to buffers of their own, of which the last is a cache.
Program maps(int count) {
  Program program;
  program.buffers.push_back({.name = "x", .elements = 8});
  program.entries.push_back({.name = "e"});
  for (int i = 0; i < count; ++i) {
    program.kernels.push_back(test::map_kernel(1, 8));
    program.kernels.back().name = "k" + std::to_string(i);
    program.kernels.back().instructions[0].access.offset = i % 2;  // so that kernels differ
    program.buffers.push_back({.name = std::to_string(i), .elements = 9});
    program.entries[0].steps.push_back(test::step_of(KernelStep{i, {{0, 0}, {i + 1, 0}}, {}}, {0}, {i + 1}));
  }
  program.buffers[0].elements = 9;
  program.buffers.back().role = Role::cache;
  set_threads(program);
  return program;
}

TEST(RunSideBySide, TakesEightKernelsAtMost) {
  Program program = maps(11);
  ASSERT_TRUE(run_side_by_side(program));
  ASSERT_EQ(program.entries[0].steps.size(), 2u);
  EXPECT_EQ(program.kernels[0].beside.size(), 7u);
  EXPECT_EQ(program.kernels[1].beside.size(), 2u);
  EXPECT_FALSE(run_side_by_side(program)) << "what is one launch already";
}

TEST(RunSideBySide, LeavesOtherEntriesAlone) {
  Program program = maps(3);
  program.buffers.back().role = Role::state;
  EXPECT_FALSE(run_side_by_side(program));
}

TEST(RunSideBySide, LeavesWhatNeedsAnother) {
  Program program = maps(3);
  std::get<KernelStep>(program.entries[0].steps[1].what).arguments[0] = {1, 0};  // what the first has made
  program.entries[0].steps[1].reads = {1};
  ASSERT_TRUE(run_side_by_side(program));
  ASSERT_EQ(program.entries[0].steps.size(), 2u);
  EXPECT_EQ(program.entries[0].steps[0].writes, (std::vector<int>{1}));
}

TEST(RunSideBySide, LeavesAlternativesAndPhasesAlone) {
  Program program = maps(4);
  program.entries[0].steps[0].choice = 0;
  program.entries[0].steps[3].phase = "update";
  ASSERT_TRUE(run_side_by_side(program));
  EXPECT_EQ(program.entries[0].steps.size(), 3u);
}

/// Threads that wait for one another are all those of a block.
TEST(RunSideBySide, LeavesShorterBlocksThatExchange) {
  for (const int threads : {32, 64}) {
    Program program = maps(2);
    program.kernels[0].instructions.push_back({.kind = Instruction::Kind::reduce, .operands = {0}});
    program.kernels[0].blocks[0].instructions.push_back(2);
    program.kernels[1].schedule.threads = threads;
    EXPECT_EQ(run_side_by_side(program), threads == 32);
  }
}

TEST(RunSideBySide, KernelsAreReadAsTheyAreWritten) {
  Program program = maps(3);
  ASSERT_TRUE(run_side_by_side(program));
  const Kernel again = parse_kernel(print(program.kernels[0]));
  EXPECT_TRUE(again.same_code(program.kernels[0])) << print(again);
  const KernelCode code = describe_kernel(again);
  EXPECT_EQ(code.range, Dim(3));
  EXPECT_EQ(code.grain, 1);
  EXPECT_EQ(code.parameters.size(), 6u);
  EXPECT_NE(emit_cuda(again).find("beside2("), std::string::npos);
}

}  // namespace
}  // namespace smelt
