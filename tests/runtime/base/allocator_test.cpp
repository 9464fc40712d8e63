// Sessions whose memory comes from the application.
#include "runtime/base/allocator.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/session/session.h"
#include "tests/runtime/base/counting_allocator.h"
#include "tests/runtime/example_plan.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

std::vector<float> sums_of_ones(Session& session) {
  const std::vector<float> x(20, 1.0F);
  const InputTensor input{"x", DType::f32, {5, 1, 4}, x.data()};
  const auto outputs = session.run("run", {&input, 1});
  const std::span<const float> y = outputs[0].as<float>();
  return {y.begin(), y.end()};
}

/// The example with weights of 8 MiB, of which its matmul reads the first, and an arena of 1 MiB.
Plan plan_with_large_weights() {
  constexpr int64_t kWeights = int64_t{8} << 20;
  Plan plan = example::plan();
  plan.states[0].shape = {Dim(kWeights / 4)};
  plan.buffers[example::weights].elements = Dim(kWeights / 4);
  plan.buffers[example::weights].bytes = kWeights;
  plan.entries[0].arena_bytes = int64_t{1} << 20;
  return plan;
}

std::unique_ptr<Session> counted(CountingAllocator& counts, Plan plan = example::plan()) {
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(std::move(plan)),
                                           SessionOptions{.allocator = counts.functions()});
  session->initialize(3);
  return session;
}

TEST(Allocator, GivesWhatASessionTakesAndGetsItBack) {
  CountingAllocator counts;
  Session plain(std::make_shared<const Plan>(example::plan()));
  plain.initialize(3);
  {
    const auto session = counted(counts);
    EXPECT_EQ(sums_of_ones(*session), sums_of_ones(plain));
    EXPECT_GE(counts.bytes(MemoryKind::host), executor_memory(session->plan()).total());
    EXPECT_EQ(counts.bytes(MemoryKind::device), 0);
  }
  EXPECT_EQ(counts.bytes(), 0);
}

/// Sessions that share weights have them, and what others of the first session's have, once.
TEST(Allocator, EightSessionsThatShareWeightsTakeThemOnce) {
  CountingAllocator counts;
  const Plan plan = plan_with_large_weights();
  std::vector<std::unique_ptr<Session>> sessions;
  sessions.push_back(counted(counts, plan));
  const std::vector<float> expected = sums_of_ones(*sessions[0]);
  for (int i = 0; i < 7; ++i) sessions.push_back(sessions[0]->share());
  for (const auto& session : sessions) EXPECT_EQ(sums_of_ones(*session), expected);
  const auto weights = static_cast<double>(weight_bytes(plan));
  const auto arena = static_cast<double>(executor_memory(plan).arena);
  EXPECT_GE(static_cast<double>(counts.bytes()), weights + 8 * arena);
  EXPECT_LE(static_cast<double>(counts.bytes()), 1.05 * weights + 8 * arena);
  sessions.erase(sessions.begin());
  EXPECT_GE(static_cast<double>(counts.bytes()), weights) << "the others read them";
  sessions.clear();
  EXPECT_EQ(counts.bytes(), 0);
}

TEST(Allocator, ItsRefusalIsAnErrorAndNothingIsKept) {
  const auto plan = std::make_shared<const Plan>(plan_with_large_weights());
  CountingAllocator counts;
  for (const int64_t limit : {int64_t{0}, int64_t{8} << 20, int64_t{9} << 20}) {
    counts.limit = limit;
    try {
      const Session session(plan, {.allocator = counts.functions()});
      ADD_FAILURE() << "a session in " << limit << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::out_of_memory);
      EXPECT_HAS(error.what(), "the application's allocator has refused");
    }
    EXPECT_EQ(counts.bytes(), 0);
  }
}

TEST(Allocator, MemoryThatIsNotAlignedIsRefused) {
  CountingAllocator counts;
  counts.shift = 4;
  EXPECT_HAS(message_of([&] { counted(counts); }), "expected a multiple of 64");
  EXPECT_EQ(counts.bytes(), 0);
}

}  // namespace
}  // namespace smelt
