// Products that read the parts of a gather as they arrive, or whose parts are sent as they are made: what
// they leave, step by step and in graphs, while ranks are late or ahead, and when one fails.
#include <chrono>
#include <random>
#include <thread>

#include "runtime/base/error.h"
#include "tests/fake_gpu/example.h"
#include "tests/support/parted_plans.h"
#include "tests/support/thread_ranks.h"

namespace smelt::fake {
namespace {

using test::expect_parted;
using test::kMostPartedRecords;
using test::PartedInputs;
using test::PartedPlan;

class GpuPartedProducts : public FakeGpu {
 protected:
  GpuPartedProducts() {
    gpu(0).count = kMostGpus;
    for (int device = 0; device < kMostGpus; ++device) gpu(device).milliseconds_by_algorithm = {1};
    choose("copies");
  }
  ~GpuPartedProducts() override { ::unsetenv("SMELT_GATHERS"); }
  static void choose(const char* way) { ::setenv("SMELT_GATHERS", way, 1); }

  static std::unique_ptr<Session> session_of(RankGroups& ranks) {
    SessionOptions options;
    options.ranks = &ranks, options.device = static_cast<int>(ranks.rank());
    const PartedPlan made("sm_90", ranks.mesh().ranks(), {});
    return std::make_unique<Session>(std::make_shared<const Plan>(made.plan()), options);
  }
  static void run_ranks(int64_t ranks, int64_t runs) {
    test::ThreadRanks(parse_mesh("data=" + std::to_string(ranks))).run([&](RankGroups& groups) {
      const auto session = session_of(groups);
      std::mt19937 random(static_cast<unsigned>(groups.rank()));
      for (int64_t run = 0; run < runs; ++run) {
        if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
        expect_parted(*session, {}, ranks, groups.rank(), run, 1 + run % kMostPartedRecords);
      }
    });
  }
};

TEST_F(GpuPartedProducts, LeaveWhatWholeOnesDo) {
  for (const int64_t ranks : {2, 3, 4}) run_ranks(ranks, 18);
  EXPECT_GT(gpu(0).graph_launches, 20);
}

TEST_F(GpuPartedProducts, AreOneForEachRank) {
  gpu(0).gemms = 0;
  run_ranks(3, 2);
  EXPECT_EQ(gpu(0).gemms, 2 * 2 * 3);
  choose("whole");
  gpu(0).gemms = 0;
  run_ranks(3, 2);
  EXPECT_EQ(gpu(0).gemms, 2 * 2) << "so small that NCCL exchanges";
}

/// Several runs are started at once.
TEST_F(GpuPartedProducts, RunAheadOfTheirHosts) {
  test::ThreadRanks(parse_mesh("data=3")).run([](RankGroups& ranks) {
    const auto session = session_of(ranks);
    std::mt19937 random(static_cast<unsigned>(ranks.rank()));
    const PartedInputs inputs({}, ranks.rank(), 0, 2);
    for (int turn = 0; turn < 4; ++turn) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
      session->repeat("g", inputs.tensors(), 5);
    }
    session->synchronize();
    expect_parted(*session, {}, 3, ranks.rank(), 1, 2);
  });
}

TEST_F(GpuPartedProducts, EndWithTheRankThatFails) {
  test::expect_end_with_failing_rank([](RankGroups& ranks, const auto& may_fail) {
    const auto session = session_of(ranks);
    expect_parted(*session, {}, 3, ranks.rank(), 0, 2);
    may_fail();
    const PartedInputs inputs({}, ranks.rank(), 1, 2);
    for (int run = 0; run < 3; ++run) session->run("g", inputs.tensors());
  });
}

}  // namespace
}  // namespace smelt::fake
