// Measuring what ranks do together: every kind at every size, with one result at all ranks.
#include "runtime/ranks/measure_collectives.h"

#include <mutex>

#include "runtime/ranks/mesh_ranks.h"
#include "tests/runtime/ranks/run_ranks.h"

namespace smelt {
namespace {

TEST(AxisSizes, AreTheDivisors) {
  EXPECT_EQ(axis_sizes(1), std::vector<int64_t>());
  EXPECT_EQ(axis_sizes(2), (std::vector<int64_t>{2}));
  EXPECT_EQ(axis_sizes(12), (std::vector<int64_t>{2, 3, 4, 6, 12}));
  EXPECT_EQ(axis_sizes(7), (std::vector<int64_t>{7}));
}

using Measured = std::vector<MeasuredCollective>;

/// The groups of two of four ranks, with a clock that ranks read differently.
Measured measure_pairs(const Launch& launch, Socket listener, std::vector<int64_t>& asked) {
  Ranks ranks(launch, {}, std::move(listener));
  MeshRanks groups(ranks, {{{"other", 2}, {"axis", 2}}});
  const CollectiveClock real = clock_of(groups.along(1));
  const CollectiveClock clock = [&](CollectiveKind kind, int64_t bytes) {
    EXPECT_GT(real(kind, bytes), 0);
    asked.push_back(bytes);
    return 1e-6 * static_cast<double>(ranks.rank()) + 1e-9 * static_cast<double>(bytes);
  };
  Measured measured = measure_collectives(clock, 2, groups.everyone(), {{100, 4096, 65536}, 3});
  ranks.link().leave();
  return measured;
}

TEST(MeasureCollectives, TheSlowestRankCountsAtAllOfThem) {
  std::mutex mutex;
  std::vector<Measured> all;
  const auto ends = run_rank_threads(4, [&](const Launch& launch, Socket listener) {
    std::vector<int64_t> asked;
    Measured measured = measure_pairs(launch, std::move(listener), asked);
    const std::lock_guard lock(mutex);
    for (const int64_t bytes : asked) EXPECT_EQ(bytes % 16, 0);
    all.push_back(std::move(measured));
  });
  expect_all_good(ends);
  ASSERT_EQ(all.size(), 4u);
  for (const Measured& measured : all) {
    ASSERT_EQ(measured.size(), 4u) << "kinds";
    for (const MeasuredCollective& one : measured) {
      EXPECT_EQ(one.row.ranks, 2);
      EXPECT_NEAR(one.row.time.latency, 3e-6, 1e-9) << "rank 3's";
      EXPECT_NEAR(one.row.time.seconds_per_byte, 1e-9, 1e-12);
      ASSERT_EQ(one.sizes.size(), 3u);
      EXPECT_EQ(one.sizes[0].bytes, 112) << "100 rounded up to what two ranks share";
    }
  }
}

}  // namespace
}  // namespace smelt
