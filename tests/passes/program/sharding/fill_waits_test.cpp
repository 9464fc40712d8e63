// fill_waits: matmuls stand beside collectives that are waited for, and steps that touch each other's memory
// keep their order.
#include "passes/program/sharding/fill_waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/analysis/step_footprint.h"

namespace smelt {
namespace {

constexpr int64_t kFillWidth = 8;  // of square matrices

/// Buffers are numbered; sources tell steps apart.
class ProgramOfMatmuls {
 public:
  ProgramOfMatmuls() {
    program.mesh = {{{"model", 2}}};
    program.entries.push_back({.name = "g"});
  }
  int buffer() {
    program.buffers.push_back({.name = "b", .elements = 2 * kFillWidth * kFillWidth});
    return static_cast<int>(program.buffers.size()) - 1;
  }
  void matmul(int a, int b, int c) {
    const auto matrix = [](int of) { return GemmStep::Matrix{{of, 0}, kFillWidth, 1}; };
    GemmStep step{
        .a = matrix(a), .b = matrix(b), .c = matrix(c), .m = kFillWidth, .n = kFillWidth, .k = kFillWidth};
    add(step, {a, b}, {c});
  }
  void sum(int from, int to) {
    add(CollectiveStep{CollectiveKind::all_reduce, "model", {from, 0}, {to, 0}, kFillWidth * kFillWidth, 2},
        {from}, {to});
  }
  void gather(int from, int to) {
    add(CollectiveStep{CollectiveKind::all_gather, "model", {from, 0}, {to, 0}, kFillWidth * kFillWidth, 2},
        {from}, {to});
  }
  std::vector<std::string> order() const {
    std::vector<std::string> names;
    for (const Step& step : program.entries[0].steps) names.push_back(step.sources.front());
    return names;
  }
  Program program;

 private:
  void add(decltype(Step::what) what, std::vector<int> reads, std::vector<int> writes) {
    Step& step = program.entries[0].steps.emplace_back();
    step.what = std::move(what), step.reads = std::move(reads), step.writes = std::move(writes);
    step.sources = {std::to_string(program.entries[0].steps.size() - 1)};
  }
};

/// 0: y = x w; 1: a gradient of a weight; 2: the sum of y; 3: reads it.
ProgramOfMatmuls backward_of_two() {
  ProgramOfMatmuls p;
  const int x = p.buffer(), w = p.buffer(), y = p.buffer(), gradient = p.buffer(), sum = p.buffer(),
            z = p.buffer();
  p.matmul(x, x, gradient);
  p.matmul(x, w, y);
  p.sum(y, sum);
  p.matmul(sum, w, z);
  return p;
}

TEST(FillWaits, MovesWhatTheCollectiveDoesNotNeed) {
  ProgramOfMatmuls p = backward_of_two();
  EXPECT_TRUE(fill_waits(p.program, {.flops_a_byte = 0.1}));
  EXPECT_EQ(p.order(), (std::vector<std::string>{"1", "2", "0", "3"}));
  EXPECT_FALSE(fill_waits(p.program, {.flops_a_byte = 0.1})) << "it stands there already";
}

TEST(FillWaits, LeavesShortAndDistantMatmulsWhereTheyAre) {
  ProgramOfMatmuls p = backward_of_two();
  EXPECT_FALSE(fill_waits(p.program, {.flops_a_byte = 1e6}));
  EXPECT_FALSE(fill_waits(p.program, {.flops_a_byte = 0.1, .most_places = 1}));
  EXPECT_EQ(p.order(), (std::vector<std::string>{"0", "1", "2", "3"}));
}

/// 0 is gathered for 2, which nothing needs; 1 for 3, which is summed in 4, and 5 waits for that.
TEST(FillWaits, FillsALaterWaitAndGathersFirstWhatIsNeededFirst) {
  ProgramOfMatmuls p;
  const int x = p.buffer(), w = p.buffer(), saved = p.buffer(), whole = p.buffer(), y = p.buffer(),
            gradient = p.buffer(), z = p.buffer(), sum = p.buffer(), end = p.buffer();
  p.gather(saved, whole);
  p.gather(x, y);
  p.matmul(whole, w, gradient);
  p.matmul(y, w, z);
  p.sum(z, sum);
  p.matmul(sum, w, end);
  EXPECT_TRUE(fill_waits(p.program, {.flops_a_byte = 1}));
  EXPECT_EQ(p.order(), (std::vector<std::string>{"1", "0", "3", "4", "2", "5"}));
}

/// Of each two steps that touch the same memory, or are collectives, the first stays the first.
TEST(FillWaits, KeepsTheOrderOfWhatDepends) {
  int moved = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    ProgramOfMatmuls p;
    for (int i = 0; i < 8; ++i) p.buffer();
    const auto any = [&] { return static_cast<int>(random() % 8); };
    for (int i = 0; i < 24; ++i) {
      const int from = any(), to = (from + 1 + any() % 7) % 8;
      if (random() % 3 == 0)
        p.sum(from, to);
      else
        p.matmul(from, (from + 2) % 8 == to ? from : (from + 2) % 8, to);
    }
    const std::vector<Step> before = p.program.entries[0].steps;
    moved += fill_waits(p.program, {.flops_a_byte = 0.1, .most_places = 6}) ? 1 : 0;
    const std::vector<std::string> order = p.order();
    ASSERT_EQ(order.size(), before.size());
    const auto place = [&](size_t step) {
      return std::ranges::find(order, std::to_string(step)) - order.begin();
    };
    for (size_t i = 0; i < before.size(); ++i)
      for (size_t j = i + 1; j < before.size(); ++j)
        if (conflict(footprint(p.program, before[i]), footprint(p.program, before[j]))) {
          EXPECT_LT(place(i), place(j)) << "steps " << i << " and " << j << ", seed " << seed;
        }
  }
  EXPECT_GT(moved, 20);
}

}  // namespace
}  // namespace smelt
