// Gathers and exchanges by copies between GPUs: what they leave, step by step and in graphs, while ranks are
// late or ahead; where NCCL does them all the same; and when a rank fails.
#include <chrono>
#include <random>
#include <thread>

#include "runtime/base/error.h"
#include "tests/fake_gpu/example.h"
#include "tests/support/gather_plans.h"
#include "tests/support/thread_ranks.h"

namespace smelt::fake {
namespace {

using test::Gathering;
using test::GatherPlan;

constexpr CollectiveKind kGathers = CollectiveKind::all_gather, kExchanges = CollectiveKind::all_to_all;

const std::vector<Gathering> kGatherings = {
    {kGathers, DType::f32, 33},       {kGathers, DType::bf16, 197},      {kGathers, DType::f32, 3, 4, 5},
    {kExchanges, DType::f32, 31},     {kGathers, DType::bf16, 7, 3, 0},  {kExchanges, DType::bf16, 5, 3, 2},
    {kGathers, DType::f32, 1, 31, 0}, {kGathers, DType::bf16, 64, 1, 0},
};

void wait_at_random(std::mt19937& random) {
  if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
}

class GpuPeerCopies : public FakeGpu {
 protected:
  GpuPeerCopies() {
    gpu(0).count = kMostGpus;
    choose("copies");
  }
  ~GpuPeerCopies() override { ::unsetenv("SMELT_GATHERS"); }
  static void choose(const char* way) { ::setenv("SMELT_GATHERS", way, 1); }

  static std::unique_ptr<Session> session_of(const std::vector<Gathering>& all, RankGroups& ranks) {
    SessionOptions options;
    options.ranks = &ranks, options.device = static_cast<int>(ranks.rank());
    const GatherPlan made("sm_90", ranks.mesh().ranks(), all);
    return std::make_unique<Session>(std::make_shared<const Plan>(made.plan()), options);
  }
  static void run_ranks(int64_t ranks, const std::vector<Gathering>& all, int64_t runs) {
    test::ThreadRanks(parse_mesh("data=" + std::to_string(ranks))).run([&](RankGroups& groups) {
      const auto session = session_of(all, groups);
      std::mt19937 random(static_cast<unsigned>(groups.rank()));
      for (int64_t run = 0; run < runs; ++run) {
        wait_at_random(random);
        test::expect_gathered(*session, all, ranks, groups.rank(), run);
      }
    });
  }
  static size_t given_to_nccl() {
    size_t calls = 0;
    for (int device = 0; device < kMostGpus; ++device) calls += gpu(device).nccl_groups.size();
    return calls;
  }
};

TEST_F(GpuPeerCopies, LeaveWhatNcclDoes) {
  for (const int64_t ranks : {2, 3, 4}) run_ranks(ranks, kGatherings, 24);
  EXPECT_EQ(given_to_nccl(), 0u);
  EXPECT_GT(gpu(0).graph_launches, 20);
}

TEST_F(GpuPeerCopies, AreLeftToNcclWhereTheUserSaysSo) {
  choose("nccl");
  run_ranks(2, {{kGathers, DType::f32, 300000}}, 3);
  EXPECT_GT(given_to_nccl(), 0u);
}

TEST_F(GpuPeerCopies, AreLeftToNcclWhereMemoryIsOutOfReach) {
  gpu(0).has_peers = false;
  EXPECT_THROW(run_ranks(2, kGatherings, 1), Error);  // who insists on copies is told
  choose("");
  run_ranks(2, {{kGathers, DType::f32, 300000}}, 3);
  EXPECT_GT(given_to_nccl(), 0u);
}

/// What NCCL does faster.
TEST_F(GpuPeerCopies, AreOfLargeCollectives) {
  choose("");
  run_ranks(2, {{kGathers, DType::f32, 100}}, 3);
  EXPECT_GT(given_to_nccl(), 0u);
  for (int device = 0; device < kMostGpus; ++device) gpu(device).nccl_groups.clear();
  run_ranks(2, {{kGathers, DType::f32, 300000}}, 3);
  EXPECT_EQ(given_to_nccl(), 0u);
}

TEST_F(GpuPeerCopies, RefuseAnotherWay) {
  choose("carrier pigeons");
  EXPECT_THROW(run_ranks(2, kGatherings, 1), Error);
}

/// Several runs are started at once, whose words are the same.
TEST_F(GpuPeerCopies, RunAheadOfTheirHosts) {
  test::ThreadRanks(parse_mesh("data=3")).run([](RankGroups& ranks) {
    const auto session = session_of(kGatherings, ranks);
    std::mt19937 random(static_cast<unsigned>(ranks.rank()));
    const test::GatherInputs inputs(kGatherings, 3, ranks.rank(), 0);
    for (const char* entry : {"forward", "backward", "forward", "backward"}) {
      wait_at_random(random);
      session->repeat(entry, inputs.inputs(), 5);
    }
    session->synchronize();
    test::expect_gathered(*session, kGatherings, 3, ranks.rank(), 1);
  });
}

/// Ranks whose GPUs wait for words of one that has failed are ended, with its text; several waits in turn.
TEST_F(GpuPeerCopies, EndWithTheRankThatFails) {
  test::expect_end_with_failing_rank([](RankGroups& ranks, const auto& may_fail) {
    const auto session = session_of(kGatherings, ranks);
    test::expect_gathered(*session, kGatherings, 3, ranks.rank(), 0);
    may_fail();
    const test::GatherInputs inputs(kGatherings, 3, ranks.rank(), 1);
    for (int run = 0; run < 3; ++run) session->run("forward", inputs.inputs());
  });
}

}  // namespace
}  // namespace smelt::fake
