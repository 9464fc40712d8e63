// Collectives over several rows on GPUs: NCCL is given all rows of a step at once.
#include "runtime/base/error.h"
#include "tests/fake_gpu/example.h"
#include "tests/support/row_plans.h"
#include "tests/support/thread_ranks.h"

namespace smelt::fake {
namespace {

using test::kMostRowsOfPlan;
using test::RowPlan;

constexpr int kRowRuns = 3;  // step by step, captured, from the graph

/// What each rank makes of all rows, run by run.
std::vector<std::vector<std::vector<float>>> rows_on_gpus(const RowPlan& of) {
  const auto plan = std::make_shared<const Plan>(of.plan("sm_90"));
  std::vector<std::vector<std::vector<float>>> made(static_cast<size_t>(of.ranks));
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    SessionOptions options;
    options.ranks = &ranks, options.device = static_cast<int>(ranks.rank());
    Session session(plan, options);
    for (int64_t run = 0; run < kRowRuns; ++run) {
      const std::vector<float> x =
          test::numbers_of_rows(ranks.rank() + 5 * run, kMostRowsOfPlan * of.from_stride());
      const InputTensor input{"x", DType::f32, {kMostRowsOfPlan, of.from_stride()}, x.data()};
      const auto outputs = session.run("g", {&input, 1});
      const auto y = outputs[0].as<float>();
      made[static_cast<size_t>(ranks.rank())].emplace_back(y.begin(), y.end());
    }
  });
  return made;
}

class GpuCollectiveRows : public FakeGpu {
 protected:
  GpuCollectiveRows() { gpu(0).count = kMostGpus; }
};

TEST_F(GpuCollectiveRows, MakeWhatOneAfterTheOtherDoes) {
  for (const CollectiveKind kind : test::kKindsOfRows)
    for (const int64_t ranks : {2, 4})
      EXPECT_EQ(rows_on_gpus({kind, ranks, true}), rows_on_gpus({kind, ranks, false}))
          << name(kind) << " of " << ranks;
}

TEST_F(GpuCollectiveRows, BeginAsOneGroup) {
  for (const bool as_one : {true, false}) {
    for (int device = 0; device < kMostGpus; ++device) gpu(device).nccl_groups.clear();
    rows_on_gpus({CollectiveKind::reduce_scatter, 3, as_one});
    const size_t together = as_one ? kMostRowsOfPlan : 1;
    for (int device = 0; device < 3; ++device) {
      EXPECT_FALSE(gpu(device).nccl_groups.empty());
      for (const size_t group : gpu(device).nccl_groups) EXPECT_EQ(group, together) << device;
    }
  }
}

TEST_F(GpuCollectiveRows, OfOneRankAreCopied) {
  const RowPlan alone{CollectiveKind::all_gather, 1, true, 0};
  const auto made = rows_on_gpus(alone)[0];
  EXPECT_EQ(made[0], test::numbers_of_rows(0, kMostRowsOfPlan * alone.from_stride()));
}

}  // namespace
}  // namespace smelt::fake
