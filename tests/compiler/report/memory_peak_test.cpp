// The moment of an entry's peak, and what is in use then.
#include "compiler/report/memory_peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "compiler/report/buffer_lives.h"
#include "tests/compiler/report/reported_models.h"

namespace smelt {
namespace {

TEST(WithoutLayerNumbers, FoldsNumbersThatAreWholeParts) {
  EXPECT_EQ(without_layer_numbers("layers.13.mlp.up_proj"), "layers.*.mlp.up_proj");
  EXPECT_EQ(without_layer_numbers("h.0.attn + h.11.mlp.0"), "h.*.attn + h.*.mlp.*");
  EXPECT_EQ(without_layer_numbers("conv1.2d.x7"), "conv1.2d.x7");
  EXPECT_EQ(without_layer_numbers("5"), "*");
  EXPECT_EQ(without_layer_numbers(""), "");
}

Buffer buffer(const char* name, Role role, int64_t offset, int64_t bytes, int first, int last) {
  Buffer made{.name = name, .role = role, .elements = bytes, .bytes = bytes};
  made.offset_bytes = offset, made.first_step = first, made.last_step = last;
  return made;
}

/// Steps that use these buffers, each in its first and its last step.
PlanEntry entry_of(const std::vector<Buffer>& buffers, size_t steps) {
  PlanEntry entry{.name = "e"};
  entry.steps.resize(steps);
  for (size_t i = 0; i < buffers.size(); ++i)
    for (const int step : {buffers[i].first_step, buffers[i].last_step})
      entry.steps[static_cast<size_t>(step)].reads.push_back(static_cast<int>(i));
  return entry;
}

/// In step 1 "h.1.a" is written in place of "h.0.a", so less is in use than in step 2.
TEST(MemoryPeak, SharedBytesCountOnceAndLayersAreOne) {
  std::vector<Buffer> buffers = {
      buffer("h.0.a", Role::temporary, 0, 600, 0, 1), buffer("h.1.a", Role::temporary, 0, 600, 1, 2),
      buffer("h.2.a", Role::temporary, 1024, 100, 2, 3), buffer("b", Role::saved, 2048, 250, 2, 3),
      buffer("h.3.a", Role::saved, 4096, 400, 3, 3)};
  buffers[3].parts = {{0, 2, 3}, {50, -1, -1}};
  const MemoryPeak peak = memory_peak(buffers, entry_of(buffers, 4));
  EXPECT_EQ(peak.step, 2);
  EXPECT_EQ(peak.bytes, 750);
  ASSERT_EQ(peak.groups.size(), 2u);
  EXPECT_EQ(peak.groups[0].source, "h.*.a");
  EXPECT_EQ(peak.groups[0].buffers, 2);
  EXPECT_EQ(peak.groups[0].bytes, 700);
  EXPECT_EQ(peak.groups[1].role, Role::saved);
  EXPECT_EQ(peak.groups[1].bytes, 50);
}

TEST(MemoryPeak, IsNowhereInAnEmptyArena) {
  const MemoryPeak peak = memory_peak({}, PlanEntry{.name = "e"});
  EXPECT_EQ(peak.step, -1);
  EXPECT_TRUE(peak.groups.empty());
}

TEST(MemoryPeak, IsTheLargestOfAllSteps) {
  CompileOptions options;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 16}};
  const Program program =
      compile(read_description(std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2"), options,
              Stage::program)
          .program;
  for (const PlanEntry& entry : program.entries) {
    const MemoryPeak peak = memory_peak(program.buffers, entry);
    const std::vector<int64_t> used = used_bytes(buffer_lives(program.buffers, entry), entry.steps.size());
    const auto largest = std::ranges::max_element(used);
    EXPECT_EQ(peak.bytes, *largest) << entry.name;
    EXPECT_EQ(peak.step, largest - used.begin()) << entry.name;
    int64_t sum = 0;
    for (const PeakGroup& group : peak.groups) sum += group.bytes;
    EXPECT_EQ(sum, peak.bytes) << entry.name;
    EXPECT_TRUE(std::ranges::is_sorted(peak.groups, std::greater(), &PeakGroup::bytes)) << entry.name;
  }
}

}  // namespace
}  // namespace smelt
