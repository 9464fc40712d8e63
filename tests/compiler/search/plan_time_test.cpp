// The time of a program of several ranks: what is hidden behind work, and what is not.
#include "compiler/search/plan_time.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

constexpr CollectiveKind kReduce = CollectiveKind::all_reduce, kGather = CollectiveKind::all_gather;

/// A byte of work takes a second; so does a collective over two ranks beside `latency`.
MachineRates rates(double latency = 0, double beside = 0) {
  MachineRates rates;
  rates.compute.bytes_per_second = 1, rates.compute.wide_flops = 1;
  rates.collectives = CollectiveRates({}, {latency, 1});
  rates.beside_collectives = beside;
  return rates;
}

Step work(int64_t seconds) {
  Step step;
  step.what = FillStep{.to = {.buffer = 0, .offset = 0}, .elements = Dim(seconds)};
  return step;
}

/// Of so many bytes at each of two ranks.
Step collective(int64_t bytes, int waited_at, CollectiveKind kind = kReduce) {
  CollectiveStep what;
  what.kind = kind, what.axis = "data", what.ranks = 2, what.dtype = DType::i8;
  what.elements = kind == kReduce ? bytes : bytes / 2;
  what.waited_at = waited_at;
  Step step;
  step.what = what;
  return step;
}

EntryTime time_of(std::vector<Step> steps, const MachineRates& rates) {
  Program program;
  program.mesh = {{{"data", 2}}};
  program.buffers.emplace_back().dtype = DType::i8;
  program.entries.emplace_back().steps = std::move(steps);
  return predicted_time(program, program.entries[0], rates);
}

TEST(PlanTime, TheNextStepWaits) {
  const EntryTime time = time_of({work(10), collective(4, -1), work(5)}, rates(1));
  EXPECT_DOUBLE_EQ(time.seconds, 10 + 5 + 5);
  EXPECT_DOUBLE_EQ(time.compute, 15);
  EXPECT_DOUBLE_EQ(time.collectives, 5);
  EXPECT_DOUBLE_EQ(time.exposed, 5);
  EXPECT_DOUBLE_EQ(time.hidden(), 0);
}

TEST(PlanTime, WorkHidesWhatNobodyWaitsFor) {
  const EntryTime hidden = time_of({work(10), collective(4, 3), work(5), work(1)}, rates());
  EXPECT_DOUBLE_EQ(hidden.seconds, 16);
  EXPECT_DOUBLE_EQ(hidden.exposed, 0);
  EXPECT_DOUBLE_EQ(hidden.hidden(), 4);
  const EntryTime longer = time_of({work(10), collective(8, 3), work(5), work(1)}, rates());
  EXPECT_DOUBLE_EQ(longer.exposed, 3) << "all but the five seconds of work";
  EXPECT_DOUBLE_EQ(longer.seconds, 19);
}

TEST(PlanTime, TheEndWaitsForAll) {
  const EntryTime time = time_of({work(1), collective(8, 3), work(2)}, rates());
  EXPECT_DOUBLE_EQ(time.seconds, 9);
  EXPECT_DOUBLE_EQ(time.exposed, 6);
}

/// They begin together.
TEST(PlanTime, RowsWaitForTheOtherRanksOnce) {
  Step rows = collective(4, -1, kGather);
  auto& what = std::get<CollectiveStep>(rows.what);
  what.rows = 3, what.from_stride = 2, what.to_stride = 4;
  EXPECT_DOUBLE_EQ(time_of({rows}, rates(1)).collectives, 1 + 3 * 4 / 2)
      << "half of the bytes go over a link";
}

TEST(PlanTime, CollectivesRunOneBehindTheOther) {
  const EntryTime time = time_of({collective(4, 3), collective(4, 3), work(5), work(1)}, rates());
  EXPECT_DOUBLE_EQ(time.collectives, 8);
  EXPECT_DOUBLE_EQ(time.exposed, 3);
  EXPECT_DOUBLE_EQ(time.seconds, 9);
}

TEST(PlanTime, WorkIsSlowerBesideCollectives) {
  const EntryTime time = time_of({collective(4, 2), work(10), work(1)}, rates(0, 0.25));
  EXPECT_DOUBLE_EQ(time.seconds, 4 + 7 + 1) << "three seconds of work in the first four";
  EXPECT_DOUBLE_EQ(time.compute, 11);
  EXPECT_DOUBLE_EQ(time.exposed, 1);
}

/// Gathers from a size on.
TEST(PlanTime, CopiesRunBesideOtherCollectives) {
  MachineRates copied = rates(0, 0.5);
  copied.copied_from = 8, copied.beside_copies = 0.25;
  const EntryTime time = time_of({collective(4, 3), collective(8, 3, kGather), work(10), work(1)}, copied);
  EXPECT_DOUBLE_EQ(time.collectives, 4 + 4);
  EXPECT_DOUBLE_EQ(time.seconds, 4 + (10 - 4 * 0.5 * 0.75) + 1) << "both take the first four seconds";
  const EntryTime longer = time_of({collective(4, 3), collective(12, 3, kGather), work(10), work(1)}, copied);
  EXPECT_DOUBLE_EQ(longer.seconds, 6 + (10 - 4 * 0.5 * 0.75 - 2 * 0.75) + 1) << "two more beside the copy";
  const EntryTime small = time_of({collective(4, 3), collective(6, 3, kGather), work(10), work(1)}, copied);
  EXPECT_DOUBLE_EQ(small.seconds, 7 + (10 - 7 * 0.5) + 1) << "one behind the other";
}

TEST(PlanTime, OneOfSeveralWaysCounts) {
  Step first = work(3), second = work(100);
  first.choice = second.choice = 0, second.alternative = 1;
  EXPECT_DOUBLE_EQ(time_of({first, second}, rates()).seconds, 3);
}

TEST(CollectiveUses, AreAddedUpByKindAndAxis) {
  Program program;
  program.mesh = {{{"data", 2}}};
  program.entries.emplace_back().steps = {collective(4, -1), collective(8, -1), collective(6, -1, kGather)};
  const auto uses = collective_uses(program, program.entries[0], rates(1).collectives);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].count, 2);
  EXPECT_DOUBLE_EQ(uses[0].bytes, 12);
  EXPECT_DOUBLE_EQ(uses[0].link_bytes, 12) << "2 (k - 1) / k";
  EXPECT_DOUBLE_EQ(uses[0].seconds, 14);
  EXPECT_DOUBLE_EQ(uses[1].bytes, 6) << "of the whole";
  EXPECT_DOUBLE_EQ(uses[1].link_bytes, 3);
}

}  // namespace
}  // namespace smelt
