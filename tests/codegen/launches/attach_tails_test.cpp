// Small steps that become tails: programs hold the same in the end, and what must stay before or behind
// another step does.
#include "codegen/launches/launch_passes.h"

#include <gtest/gtest.h>

#include "tests/codegen/program_player.h"

namespace smelt {
namespace {

using test::map_kernel;
using test::ProgramPlayer;
using test::step_of;

const Kernel& kernel_of(const Program& program, size_t step) {
  const auto& launch = std::get<KernelStep>(program.entries[0].steps.at(step).what);
  const Kernel& kernel = program.kernels[static_cast<size_t>(launch.kernel)];
  EXPECT_EQ(launch.arguments.size(), kernel.arguments());
  return kernel;
}

std::vector<std::string> tail_of(const Program& program, size_t step) {
  std::vector<std::string> names;
  for (const Kernel& last : kernel_of(program, step).tail) names.push_back(last.name);
  return names;
}

class AttachedTails : public ::testing::TestWithParam<uint64_t> {};

TEST_P(AttachedTails, LeaveTheSameInMemory) {
  Program program = test::random_launches(GetParam(), 60, 8);
  for (int reads = 0; reads < 3; reads += 2) {
    // Kernels of many blocks, in place of the small ones for half of the launches.
    program.kernels.push_back(program.kernels[static_cast<size_t>(reads)]);
    program.kernels.back().name += "_wide";
    program.kernels.back().schedule.splits = 264;
    int number = 0;
    for (Step& step : program.entries[0].steps)
      if (auto* launch = std::get_if<KernelStep>(&step.what);
          launch && launch->kernel == reads && number++ % 2 == 0)
        launch->kernel = static_cast<int>(program.kernels.size()) - 1;
  }
  const auto expected = ProgramPlayer(program).play(program.entries[0]);
  const size_t steps = program.entries[0].steps.size();
  ASSERT_TRUE(attach_tails(program));
  EXPECT_LT(program.entries[0].steps.size(), steps);
  EXPECT_EQ(ProgramPlayer(program).play(program.entries[0]), expected);
  for (size_t i = 0; i < program.entries[0].steps.size(); ++i)
    if (std::holds_alternative<KernelStep>(program.entries[0].steps[i].what)) {
      EXPECT_LE(kernel_of(program, i).tail.size(), 8u);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AttachedTails, ::testing::Range<uint64_t>(0, 40));

/// Numbers of one element in buffers 0, 1, ...; kernels: 0 sums up (many blocks), 1 finishes, 2 is a map of
/// one element, 3 writes one element and reads nothing, 4 is a map of many elements.
Program scalars(int buffers) {
  Program program;
  for (int i = 0; i < buffers; ++i)
    program.buffers.push_back({.name = std::to_string(i), .role = Role::output, .elements = 64});
  program.kernels = {map_kernel(1, 64), map_kernel(1, 1), map_kernel(1, 1), map_kernel(0, 1),
                     map_kernel(1, 64)};
  const char* names[] = {"sum", "finish", "map", "zero", "wide"};
  for (size_t i = 0; i < program.kernels.size(); ++i) program.kernels[i].name = names[i];
  program.kernels[0].schedule.splits = 264;
  program.entries.push_back({.name = "e"});
  return program;
}

void launch(Program& program, int kernel, std::vector<int> reads, int write) {
  KernelStep step{.kernel = kernel, .arguments = {}, .random_ids = {}};
  for (const int read : reads) step.arguments.push_back({read, 0});
  step.arguments.push_back({write, 0});
  program.entries[0].steps.push_back(step_of(std::move(step), std::move(reads), {write}));
}

TEST(AttachTails, AChainEndsASum) {
  Program program = scalars(5);
  launch(program, 0, {0}, 1), launch(program, 1, {1}, 2), launch(program, 2, {2}, 3),
      launch(program, 4, {3}, 4);
  program.entries[0].steps[2].sources = {"root"};
  ASSERT_TRUE(attach_tails(program));
  ASSERT_EQ(program.entries[0].steps.size(), 2u);
  EXPECT_EQ(tail_of(program, 0), (std::vector<std::string>{"finish", "map"}));
  EXPECT_EQ(program.entries[0].steps[0].sources, std::vector<std::string>{"root"});
  EXPECT_EQ(program.entries[0].steps[0].writes, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(tail_of(program, 1).empty());
  EXPECT_EQ(program.kernels.size(), 2u) << "kernels that run alone no more are gone";
}

/// A scalar map in front of a sum goes on with its last block, before or behind what is there already.
TEST(AttachTails, StepsInFrontMoveDown) {
  Program program = scalars(8);
  launch(program, 2, {5}, 6), launch(program, 0, {0}, 1), launch(program, 1, {1}, 2),
      launch(program, 2, {6}, 7);
  const auto expected = ProgramPlayer(program).play(program.entries[0]);
  ASSERT_TRUE(attach_tails(program));
  ASSERT_EQ(program.entries[0].steps.size(), 1u);
  EXPECT_EQ(kernel_of(program, 0).tail.size(), 3u);
  EXPECT_EQ(ProgramPlayer(program).play(program.entries[0]), expected);
}

TEST(AttachTails, AlternativesNeitherMoveNorTakeOthersAlong) {
  for (const size_t part : {0, 1}) {
    Program program = scalars(3);
    launch(program, 0, {0}, 1), launch(program, 1, {1}, 2);
    program.entries[0].choices = {{{"only"}}};
    program.entries[0].steps[part].choice = 0;
    EXPECT_FALSE(attach_tails(program)) << part;
    EXPECT_EQ(program.entries[0].steps.size(), 2u);
  }
}

TEST(AttachTails, WhatTheSumReadsStaysBeforeIt) {
  Program program = scalars(4);
  launch(program, 2, {0}, 1), launch(program, 0, {1}, 2);
  EXPECT_FALSE(attach_tails(program));
  EXPECT_EQ(program.entries[0].steps.size(), 2u);
}

TEST(AttachTails, PhasesStayApart) {
  Program program = scalars(4);
  launch(program, 0, {0}, 1), launch(program, 1, {1}, 2);
  program.entries[0].steps[1].phase = "update";
  EXPECT_FALSE(attach_tails(program));
}

/// A kernel that may have no blocks at all cannot go on with anything.
TEST(AttachTails, AHostHasABlock) {
  for (const char* extent : {"64 - T", "ceil_div(T - 1, 64)", "L", "T"}) {
    Program program = scalars(4);
    program.symbols.bound({"T"}, 64), program.symbols.bound({"L"}, 64, 0);
    program.kernels[4].axes[0] = {AxisKind::parallel, "r0", Dim::parse(extent)};
    launch(program, 4, {0}, 1), launch(program, 2, {1}, 2);
    EXPECT_EQ(attach_tails(program), extent == std::string("T"));
  }
}

TEST(AttachTails, ACopyOfOneNumberIsATail) {
  Program program = scalars(4);
  launch(program, 0, {0}, 1), launch(program, 1, {1}, 2);
  program.entries[0].steps.push_back(step_of(CopyStep{{2, 0}, {3, 5}, {}, {}, {}}, {2}, {3}));
  program.entries[0].steps.push_back(step_of(CopyStep{{2, 0}, {3, 8}, {2}, {1}, {1}}, {2}, {3}));
  ASSERT_TRUE(attach_tails(program));
  ASSERT_EQ(program.entries[0].steps.size(), 2u);
  EXPECT_EQ(tail_of(program, 0), (std::vector<std::string>{"finish", "copy"}));
}

TEST(AttachTails, EntriesShareKernels) {
  Program program = scalars(3);
  launch(program, 0, {0}, 1), launch(program, 1, {1}, 2);
  program.entries.push_back(program.entries[0]);
  program.entries[1].name = "f";
  ASSERT_TRUE(attach_tails(program));
  EXPECT_EQ(program.kernels.size(), 1u);
}

}  // namespace
}  // namespace smelt
