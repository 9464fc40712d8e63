// Lives of buffers: as planned, and what they take together at every step.
#include "compiler/report/buffer_lives.h"

#include <gtest/gtest.h>

#include "tests/compiler/report/reported_models.h"

namespace smelt {
namespace {

BufferLife life(int buffer, std::vector<LiveRange> ranges) { return {buffer, std::move(ranges)}; }

TEST(UsedBytes, WhatTwoShareCountsOnce) {
  const std::vector<BufferLife> lives = {life(0, {{0, 100, 0, 2}}), life(1, {{50, 150, 1, 1}}),
                                         life(2, {{200, 300, 2, 3}})};
  EXPECT_EQ(used_bytes(lives, 5), (std::vector<int64_t>{100, 150, 200, 100, 0}));
}

TEST(UsedBytes, PartsLiveEachAtTheirTime) {
  EXPECT_EQ(used_bytes({life(0, {{0, 10, 0, 0}, {10, 30, 1, 2}})}, 3), (std::vector<int64_t>{10, 20, 20}));
}

/// Every use of a buffer of the arena lies in its life, and the planner's own figures are met.
TEST(BufferLives, AreThoseOfThePlan) {
  CompileOptions options;
  options.entries = {"train_step"};
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 16}};
  const Compilation compilation =
      compile(read_description(std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2"), options,
              Stage::program);
  const Program& program = compilation.program;
  const PlanEntry& entry = program.entries[0];
  const std::vector<BufferLife> lives = buffer_lives(program.buffers, entry);
  ASSERT_FALSE(lives.empty());
  for (const BufferLife& life : lives) {
    int first = static_cast<int>(entry.steps.size()), last = -1;
    for (const LiveRange& range : life.ranges) {
      first = std::min(first, range.first), last = std::max(last, range.last);
      EXPECT_LE(range.end, entry.arena_bytes);
    }
    for (size_t i = 0; i < entry.steps.size(); ++i)
      for (const std::vector<int>* used : {&entry.steps[i].reads, &entry.steps[i].writes})
        if (std::ranges::find(*used, life.buffer) != used->end()) {
          EXPECT_LE(first, static_cast<int>(i));
          EXPECT_GE(last, static_cast<int>(i));
        }
  }
  const std::vector<int64_t> used = used_bytes(lives, entry.steps.size());
  const int64_t peak = *std::ranges::max_element(used);
  EXPECT_LE(peak, entry.arena_bytes);
  EXPECT_GT(peak, entry.arena_bytes / 2);
}

}  // namespace
}  // namespace smelt
