// Gathers and exchanges by copies, and small sums, between two GPUs of this machine: what they leave in many
// runs whose ranks are late at random, and that a lost rank ends the other; skipped where there are fewer.
//
// The driver maps memory between processes alone: each rank is this program again, which runs the one test
// that is disabled.
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/cuda/device.h"
#include "runtime/ranks/launch_variables.h"
#include "runtime/ranks/mesh_ranks.h"
#include "runtime/ranks/socket.h"
#include "tests/gpu/small_model.h"
#include "tests/support/gather_plans.h"
#include "tests/support/parted_plans.h"
#include "tests/support/sum_plans.h"

extern char** environ;

namespace smelt {
namespace {

using test::Gathering;

constexpr int kGatherRanks = 2, kGatherRuns = 400, kLostAfter = 20;
constexpr CollectiveKind kGathers = CollectiveKind::all_gather, kExchanges = CollectiveKind::all_to_all;

const std::vector<Gathering> kGpuGatherings = {
    {kGathers, DType::f32, 197},           {kGathers, DType::bf16, 33},
    {kGathers, DType::bf16, 1000003},      {kExchanges, DType::f32, 300007},
    {kGathers, DType::bf16, 65537, 4, 31}, {kExchanges, DType::bf16, 4097, 33, 3},
    {kGathers, DType::f32, 1, 777, 2},     {kGathers, DType::f32, 3, 1, 0},
};

const std::vector<test::Summing> kGpuSums = {
    {DType::f32, 1},       {DType::bf16, 7},    {DType::f16, 4096},   {DType::bf16, 4096, CollectiveSum::max},
    {DType::bf16, 131072}, {DType::f32, 50001}, {DType::bf16, 99999}, {DType::f32, 3, CollectiveSum::max}};

/// Starts this program as one rank, with what it is to do.
pid_t start_gather_rank(int rank, int port, const char* what) {
  const auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  set("RANK", std::to_string(rank)), set("LOCAL_RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(kGatherRanks)), set("LOCAL_WORLD_SIZE", std::to_string(kGatherRanks));
  set("SMELT_LAUNCHER", "torchrun"), set("SMELT_MASTER_PORT", std::to_string(port));
  set("MASTER_ADDR", "127.0.0.1"), set("MASTER_PORT", std::to_string(port));
  set("SMELT_RUN_SECRET", "of the test"), set("SMELT_GATHERS", "copies"), set("SMELT_TEST_RANK", what);
  std::string program = "gpu_tests", filter = "--gtest_filter=GpuPeerCopiesRank.*",
              disabled = "--gtest_also_run_disabled_tests";
  char* const arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
  pid_t process = 0;
  EXPECT_EQ(::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments, environ), 0);
  ::unsetenv("SMELT_TEST_RANK");
  return process;
}

/// The exit status of each rank; 128 + n for signal n.
std::vector<int> run_gather_ranks(const char* what) {
  Socket free = listen_at("127.0.0.1", 0);
  const int port = port_of(free);
  free.close();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < kGatherRanks; ++rank) processes.push_back(start_gather_rank(rank, port, what));
  std::vector<int> ends;
  for (const pid_t process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    ends.push_back(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
  return ends;
}

void run_gathers(RankGroups& groups, bool is_lost) {
  const auto target = "sm_" + std::to_string(this_gpu());
  const test::GatherPlan made(target, kGatherRanks, kGpuGatherings);
  Session session(std::make_shared<const Plan>(made.plan()),
                  {.device = static_cast<int>(groups.rank()), .ranks = &groups});
  std::mt19937 random(static_cast<unsigned>(groups.rank()));
  for (int64_t run = 0; run < kGatherRuns && !::testing::Test::HasFailure(); ++run) {
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    if (is_lost && groups.rank() == 1 && run == kLostAfter) ::raise(SIGKILL);
    test::expect_gathered(session, kGpuGatherings, kGatherRanks, groups.rank(), run);
  }
}

/// Runs that are begun before those in front of them have ended.
void run_ahead(RankGroups& groups) {
  const auto target = "sm_" + std::to_string(this_gpu());
  const test::GatherPlan made(target, kGatherRanks, kGpuGatherings);
  Session session(std::make_shared<const Plan>(made.plan()),
                  {.device = static_cast<int>(groups.rank()), .ranks = &groups});
  const test::GatherInputs inputs(kGpuGatherings, kGatherRanks, groups.rank(), 0);
  std::mt19937 random(static_cast<unsigned>(groups.rank()));
  for (int turn = 0; turn < 50; ++turn) {
    if (random() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    session.repeat(turn % 3 == 0 ? "backward" : "forward", inputs.inputs(), 1 + turn % 7);
  }
  session.synchronize();
  test::expect_gathered(session, kGpuGatherings, kGatherRanks, groups.rank(), 1);
}

void run_sums(RankGroups& groups, bool is_lost) {
  const auto target = "sm_" + std::to_string(this_gpu());
  Session session(std::make_shared<const Plan>(test::sum_plan(target, kGatherRanks, kGpuSums)),
                  {.device = static_cast<int>(groups.rank()), .ranks = &groups});
  std::mt19937 random(static_cast<unsigned>(groups.rank()));
  for (int64_t run = 0; run < kGatherRuns && !::testing::Test::HasFailure(); ++run) {
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    if (is_lost && groups.rank() == 1 && run == kLostAfter) ::raise(SIGKILL);
    test::expect_summed(session, kGpuSums, kGatherRanks, groups.rank(), run);
  }
}

/// Products beside the copies of what they read, and of what they make.
void run_in_parts(RankGroups& groups) {
  const test::PartedShape shape{.positions = 33, .width = 64, .inner = 48};
  const test::PartedPlan made("sm_" + std::to_string(this_gpu()), kGatherRanks, shape);
  Session session(std::make_shared<const Plan>(made.plan()),
                  {.device = static_cast<int>(groups.rank()), .ranks = &groups});
  std::mt19937 random(static_cast<unsigned>(groups.rank()));
  for (int64_t run = 0; run < kGatherRuns && !::testing::Test::HasFailure(); ++run) {
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    const int64_t records = 1 + run % test::kMostPartedRecords;
    test::expect_parted(session, shape, kGatherRanks, groups.rank(), run, records);
    if (run % 10 == 9)
      session.repeat("g", test::PartedInputs(shape, groups.rank(), run, records).tensors(), 5);
  }
}

TEST(GpuPeerCopiesRank, DISABLED_Works) {
  const char* text = std::getenv("SMELT_TEST_RANK");
  if (!text) GTEST_SKIP() << "a part of GpuPeerCopies";
  const std::string_view what = text;
  const bool is_lost = what != "whole";
  Ranks ranks(read_launch(process_environment()));
  const auto work = [&] {
    MeshRanks groups(ranks, parse_mesh("data=" + std::to_string(kGatherRanks)));
    run_sums(groups, what == "lost in sums");
    run_gathers(groups, what == "lost in gathers");
    run_ahead(groups);
    run_in_parts(groups);
  };
  if (!is_lost) return ranks.run(work);
  try {
    ranks.run(work);
    ADD_FAILURE() << "rank 1 was lost, and nobody noticed";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("rank 1"), std::string::npos) << error.what();
  }
}

class GpuPeerCopies : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() < kGatherRanks) GTEST_SKIP() << "fewer than two GPUs on this machine";
  }
};

TEST_F(GpuPeerCopies, LeaveWhatOthersGave) { EXPECT_EQ(run_gather_ranks("whole"), (std::vector{0, 0})); }

TEST_F(GpuPeerCopies, EndWithALostRank) {
  for (const char* when : {"lost in sums", "lost in gathers"}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run_gather_ranks(when), (std::vector{0, 128 + SIGKILL})) << when;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));  // with the start of both
  }
}

}  // namespace
}  // namespace smelt
