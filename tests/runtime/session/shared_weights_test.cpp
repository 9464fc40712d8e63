// Sessions that share weights.
#include "runtime/session/shared_weights.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/session/session.h"
#include "tests/runtime/example_plan.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

std::vector<float> run_y(Session& session, int64_t rows) {
  const std::vector<float> x(static_cast<size_t>(rows) * 4, 1.0F);
  const std::vector<InputTensor> inputs = {{"x", DType::f32, {rows, 1, 4}, x.data()}};
  const auto outputs = session.run("run", inputs);
  const std::span<const float> y = outputs[0].as<float>();
  return {y.begin(), y.end()};
}

std::unique_ptr<Session> first_session() {
  auto session =
      std::make_unique<Session>(std::make_shared<const Plan>(example::plan()), SessionOptions{.threads = 2});
  session->initialize(3);
  return session;
}

TEST(SharedWeights, AreReadByAllAndOutliveTheFirst) {
  auto first = first_session();
  const std::vector<float> expected = run_y(*first, 3);
  auto second = first->share();
  EXPECT_EQ(first->weight_users(), 2);
  EXPECT_EQ(std::as_const(*first).state("parameters").data(),
            std::as_const(*second).state("parameters").data());
  EXPECT_EQ(run_y(*second, 3), expected);
  first.reset();
  EXPECT_EQ(second->weight_users(), 1);
  EXPECT_EQ(run_y(*second, 3), expected);
  EXPECT_EQ(run_y(*second->share(), 3), expected);
}

TEST(SharedWeights, OtherStatesAreEachSessionsOwn) {
  auto first = first_session();
  auto second = first->share();
  run_y(*first, 1), run_y(*first, 1);
  EXPECT_EQ(second->scalar("step"), 0);
  run_y(*second, 1);
  EXPECT_EQ(second->scalar("step"), 1);
  EXPECT_EQ(first->scalar("step"), 2);
}

TEST(SharedWeights, AreNotWrittenUntilOneSessionIsLeft) {
  auto first = first_session();
  const std::vector<float> expected = run_y(*first, 2);
  auto second = first->share();
  const std::vector<float> values(12, 7);
  for (Session* each : {first.get(), second.get()}) {
    EXPECT_HAS(message_of([&] { each->initialize(5); }), "holds weights that 2 sessions share");
    EXPECT_HAS(message_of([&] { each->state("parameters"); }), "share");
    EXPECT_HAS(message_of([&] { each->clear_state("parameters"); }), "share");
    EXPECT_HAS(message_of([&] { each->write_segment("parameters", "w", values); }), "share");
  }
  EXPECT_EQ(run_y(*second, 2), expected);
  EXPECT_NO_THROW(second->clear_state("step"));
  second.reset();
  EXPECT_NO_THROW(first->write_segment("parameters", "w", values));
  EXPECT_NE(run_y(*first, 2), expected);
}

TEST(SharedWeights, LoadingOthersIsRefusedBeforeAnythingIsRead) {
  TemporaryDirectory d;
  auto first = first_session();
  first->save_weights(d / "w.safetensors");
  const auto second = first->share();
  EXPECT_HAS(message_of([&] { first->load_weights(std::filesystem::path(d / "w.safetensors")); }), "share");
}

TEST(SharedWeights, PlansThatWriteToThemAreRefused) {
  Plan plan = example::plan();
  plan.entries[0].steps[7].writes.push_back(example::weights);
  EXPECT_HAS(message_of([&] { require_unwritten_weights(plan); }), "entry 'run' writes to 'parameters'");
  EXPECT_NO_THROW(require_unwritten_weights(example::plan()));
}

/// One is made, used and ended by each thread, from the same first session, which runs meanwhile.
TEST(SharedWeights, SessionsRunInThreadsAtTheSameTime) {
  auto first = first_session();
  const std::vector<float> expected = run_y(*first, 5);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 7; ++i) sessions.push_back(first->share({.threads = 1}));
  sessions.push_back(std::move(first));
  {
    std::vector<std::jthread> threads;
    for (std::unique_ptr<Session>& session : sessions)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) EXPECT_EQ(run_y(*session, 5), expected);
        session.reset();
      });
  }
}

int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * 4096;
}

/// Weights of 64 MiB, of which the example's matmul reads the first.
TEST(SharedWeights, EightSessionsHoldThemOnce) {
  constexpr int64_t kWeights = int64_t{64} << 20;
  Plan plan = example::plan();
  plan.states[0].shape = {Dim(kWeights / 4)};
  plan.states[0].segments.push_back({"rest", {kWeights / 4 - 15}, 15, {}, false, {"rest"}, false});
  plan.buffers[example::weights].elements = Dim(kWeights / 4),
  plan.buffers[example::weights].bytes = kWeights;
  const int64_t before = resident_bytes();
  Session first(std::make_shared<const Plan>(plan));
  std::ranges::fill(first.state_f32("parameters"), 1.0F);
  const std::vector<float> expected = run_y(first, 5);
  const int64_t one = resident_bytes() - before;
  std::vector<std::unique_ptr<Session>> others;
  for (int i = 0; i < 7; ++i) EXPECT_EQ(run_y(*others.emplace_back(first.share()), 5), expected);
  const int64_t eight = resident_bytes() - before, rest = std::max<int64_t>(0, one - kWeights);
  EXPECT_LE(static_cast<double>(eight), 1.05 * static_cast<double>(kWeights + 8 * rest));
}

}  // namespace
}  // namespace smelt
