// Launches of the same kernel that become one: programs hold the same in the end, and what must not move
// stays.
#include "codegen/launches/launch_passes.h"

#include <gtest/gtest.h>

#include "ir/analysis/step_footprint.h"
#include "tests/codegen/program_player.h"

namespace smelt {
namespace {

using test::ProgramPlayer;

std::vector<int> copies_of(const Program& program) {
  std::vector<int> copies;
  for (const Step& step : program.entries[0].steps)
    if (const auto* launch = std::get_if<KernelStep>(&step.what)) {
      const Kernel& kernel = program.kernels[static_cast<size_t>(launch->kernel)];
      EXPECT_EQ(launch->arguments.size(), kernel.arguments());
      copies.push_back(kernel.copies);
    }
  return copies;
}

class MergedLaunches : public ::testing::TestWithParam<uint64_t> {};

TEST_P(MergedLaunches, LeaveTheSameInMemory) {
  Program program = test::random_launches(GetParam(), 60, 8);
  const auto expected = ProgramPlayer(program).play(program.entries[0]);
  const size_t steps = program.entries[0].steps.size();
  ASSERT_TRUE(merge_launches(program));
  EXPECT_LT(program.entries[0].steps.size(), steps);
  EXPECT_EQ(ProgramPlayer(program).play(program.entries[0]), expected);
  for (const Step& step : program.entries[0].steps)
    for (const auto& [written, read] : step.may_alias) EXPECT_NE(written, read);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MergedLaunches, ::testing::Range<uint64_t>(0, 40));

/// `launches` sums of partial sums, each of its own buffer into its part of a state.
Program layers(int launches, int64_t partial_elements) {
  Program program;
  program.states.emplace_back().name = "gradients";
  program.states[0].shape = {8 * launches};
  program.buffers.push_back({.name = "g", .role = Role::gradient, .elements = 8 * launches, .state = 0});
  program.kernels.push_back(test::map_kernel(1, 8));
  program.kernels[0].name = "finish";
  program.entries.push_back({.name = "e"});
  for (int i = 0; i < launches; ++i) {
    program.buffers.push_back({.name = std::to_string(i), .elements = partial_elements});
    Step step = test::step_of(KernelStep{0, {{i + 1, 0}, {0, 8 * i}}, {}}, {i + 1}, {0});
    step.sources = {"layer " + std::to_string(i)};
    program.entries[0].steps.push_back(std::move(step));
  }
  return program;
}

TEST(MergeLaunches, FillsGroupsOfFortyInOrder) {
  Program program = layers(83, 100);
  ASSERT_TRUE(merge_launches(program));
  EXPECT_EQ(copies_of(program), (std::vector<int>{40, 40, 3}));
  EXPECT_EQ(program.kernels.size(), 2u);
  EXPECT_NE(program.kernels[0].name, program.kernels[1].name);
  EXPECT_EQ(program.entries[0].steps[2].sources,
            (std::vector<std::string>{"layer 80", "layer 81", "layer 82"}));
  EXPECT_EQ(program.entries[0].steps[1].reads.front(), 41);
  EXPECT_FALSE(merge_launches(program)) << "what is one launch already";
}

TEST(MergeLaunches, HoldsLittleMemoryBack) {
  Program large = layers(6, (int64_t{5} << 20) / 4 + 1);
  EXPECT_FALSE(merge_launches(large));
  Program program = layers(6, (int64_t{5} << 20) / 4);
  ASSERT_TRUE(merge_launches(program));
  EXPECT_EQ(copies_of(program), (std::vector<int>{4, 2}));
}

TEST(MergeLaunches, LeavesPhasesAndRandomNumbersAlone) {
  Program program = layers(4, 100);
  program.entries[0].steps[1].phase = "update";
  std::get<KernelStep>(program.entries[0].steps[3].what).random_ids = {5};
  program.kernels[0].random_slots = 1;
  ASSERT_TRUE(merge_launches(program));
  EXPECT_EQ(copies_of(program), (std::vector<int>{1, 2, 1}));
}

TEST(MergeLaunches, LeavesAlternativesAlone) {
  Program program = layers(4, 100);
  program.entries[0].choices = {{{"one", "other"}}};
  for (const int i : {1, 2}) {
    Step& step = program.entries[0].steps[static_cast<size_t>(i)];
    step.choice = 0, step.alternative = i - 1;
  }
  ASSERT_TRUE(merge_launches(program));
  EXPECT_EQ(copies_of(program), (std::vector<int>{1, 1, 2}));
  EXPECT_EQ(program.entries[0].steps[1].alternative, 1) << "they still stand together";
}

/// Who reads a part of the state keeps only that part's launch where it is.
TEST(MergeLaunches, SeesPartsOfABuffer) {
  for (const bool overlaps : {false, true}) {
    Program program = layers(3, 100);
    program.buffers.push_back({.name = "copy", .elements = 8});
    const Step read = test::step_of(CopyStep{{0, overlaps ? 15 : 16}, {4, 0}, {1}, {1}, {1}}, {0}, {4});
    auto& steps = program.entries[0].steps;
    steps.insert(steps.begin() + 2, read);
    ASSERT_TRUE(merge_launches(program));
    EXPECT_EQ(copies_of(program), overlaps ? (std::vector<int>{2, 1}) : (std::vector<int>{3}));
  }
}

/// Two buffers that stand for one state.
TEST(MergeLaunches, SeesAStateThroughAnotherBuffer) {
  Program program = layers(2, 100);
  program.buffers.push_back(program.buffers[0]);
  program.buffers.push_back({.name = "copy", .elements = 8});
  const Step read = test::step_of(CopyStep{{3, 0}, {4, 0}, {1}, {1}, {1}}, {3}, {4});
  auto& steps = program.entries[0].steps;
  steps.insert(steps.begin() + 1, read);
  EXPECT_FALSE(merge_launches(program));
}

/// A buffer that two of the launches read may not be written over by one of them.
TEST(MergeLaunches, DropsAliasesOfSharedBuffers) {
  Program program;
  for (const char* name : {"x", "a", "b", "z"}) program.buffers.push_back({.name = name, .elements = 8});
  program.kernels.push_back(test::map_kernel(2, 8));
  program.entries.push_back({.name = "e"});
  for (const int out : {1, 2}) {
    const int other = out == 1 ? 3 : 0;
    Step step = test::step_of(KernelStep{0, {{0, 0}, {other, 0}, {out, 0}}, {}}, {0, other}, {out});
    step.may_alias = {{out, 0}, {out, 3}};
    if (out == 2) step.may_alias.pop_back();
    program.entries[0].steps.push_back(step);
  }
  ASSERT_TRUE(merge_launches(program));
  EXPECT_EQ(program.entries[0].steps[0].may_alias, (std::vector<std::pair<int, int>>{{1, 3}}));
}

TEST(StepFootprint, IsOfElements) {
  Program program = layers(2, 100);
  const auto& steps = program.entries[0].steps;
  const Footprint first = footprint(program, steps[0]), second = footprint(program, steps[1]);
  EXPECT_FALSE(conflict(first, second));
  EXPECT_TRUE(conflict(first, first));
  Program symbolic = program;
  symbolic.symbols.bound({"B"}, 4);
  std::get<KernelStep>(symbolic.entries[0].steps[0].what).arguments[1].offset = Dim::symbol("B") * 8;
  EXPECT_TRUE(conflict(footprint(symbolic, symbolic.entries[0].steps[0]), second));
}

}  // namespace
}  // namespace smelt
