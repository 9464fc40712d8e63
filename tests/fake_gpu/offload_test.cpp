// States that the host holds a part of: copied in and out beside kernels, captured with them, read and
// written by the host where they lie.
#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/plan/plan_costs.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

constexpr int64_t kPiece = 4, kPieces = 3, kMoments = kPiece * kPieces;

Step grow_step(BufferRef moments) {
  return {
      KernelStep{1, {{2, 0}, moments}, {}}, {2, moments.buffer}, {moments.buffer}, {}, {"decay"}, "update"};
}

Step moment_copy(BufferRef from, BufferRef to, int waited_at) {
  CopyStep copy{from, to, {Dim(kPiece)}, {1}, {1}};
  copy.waited_at = waited_at;
  return {copy, {from.buffer}, {to.buffer}, {}, {"decay"}, "update"};
}

/// train_step also adds the first output to "moments", piece by piece: of all that the host holds through one
/// of two windows.
Plan plan_with_moments(int64_t resident) {
  Plan plan = linear_plan();
  plan.states.push_back({"moments", Role::optimizer, DType::f32, {Dim(kMoments)}, {}, {}});
  plan.states[1].resident = resident;
  plan.buffers.push_back({.name = "moments",
                          .role = Role::optimizer,
                          .elements = Dim(kMoments),
                          .state = 1,
                          .bytes = kMoments * 4});
  std::vector<Step>& steps = plan.entries[0].steps;
  for (int64_t window = 0; window < 2; ++window)
    plan.buffers.push_back({.name = "window",
                            .role = Role::workspace,
                            .elements = Dim(kPiece),
                            .offset_bytes = 256 * window,
                            .bytes = kPiece * 4,
                            .first_step = 2});
  plan.entries[0].arena_bytes = 512;
  const auto count = static_cast<int>(std::max<int64_t>(0, resident) / kPiece);
  const int first = static_cast<int>(steps.size());
  for (int64_t i = 0; i < kPieces; ++i) {
    const BufferRef place{3, i * kPiece};
    if (i * kPiece >= resident) {
      steps.push_back(grow_step(place));
      continue;
    }
    const int begin = static_cast<int>(steps.size()), window = 4 + static_cast<int>(i % 2);
    steps.push_back(moment_copy(place, {window, 0}, begin + 1));
    steps.push_back(grow_step({window, 0}));
    const int again = begin + 6;  // where the window's next piece comes in
    steps.push_back(moment_copy({window, 0}, place, std::min(again, first + 3 * count)));
  }
  for (int window = 4; window < 6; ++window)
    plan.buffers[window].last_step = static_cast<int>(steps.size()) - 1;
  plan.kernels.push_back({.name = "grow",
                          .text = "",
                          .dims = {},
                          .range = Dim(kPiece),
                          .grain = 4,
                          .parameters = {{.accesses = {{}}}, {.written = true, .accesses = {{0, {1}}}}},
                          .axes = {Dim(kPiece)},
                          .threads = 4,
                          .binary = code("grow, as machine code")});
  return plan;
}

class Offload : public FakeGpu {
 protected:
  Offload() {
    gpu().kernels["grow"] = {2, [](const KernelCall& call) {
                               const auto* y = call.argument<const float*>(0);
                               auto* moments = call.argument<float*>(1);
                               for (int64_t i = 0; i < kPiece; ++i) moments[i] = moments[i] / 2 + y[0];
                             }};
  }
  static std::vector<float> moments(Session& session) {
    const auto values = session.state_f32("moments");
    return {values.begin(), values.end()};
  }
};

TEST_F(Offload, GivesTheNumbersOfAPlanWithout) {
  const auto whole = session(plan_with_moments(-1));
  for (int64_t step = 0; step < 5; ++step) train(*whole, step);
  for (const int64_t resident : {0, 4, 8, 12})
    for (const bool checked : {false, true}) {
      const int before = gpu().graph_launches;
      const auto some = session(plan_with_moments(resident), {.poison = true, .check_steps = checked});
      for (int64_t step = 0; step < 5; ++step) train(*some, step);
      EXPECT_EQ(moments(*some), moments(*whole)) << resident;
      EXPECT_EQ(weights(*some), weights(*whole)) << resident;
      EXPECT_EQ(gpu().graph_launches - before, checked ? 0 : 4) << "copies are captured";
    }
}

TEST_F(Offload, TakesNoMemoryOfTheDevice) {
  const Plan all = plan_with_moments(-1), some = plan_with_moments(kPiece),
             none = plan_with_moments(kMoments);
  EXPECT_EQ(executor_memory(some).host, kPiece * 4);
  EXPECT_EQ(executor_memory(all).states - executor_memory(none).states, kMoments * 4);
  EXPECT_EQ(executor_memory(all).host, 0);
  const HostTraffic traffic = host_traffic(some.entries[0], some.states, some.buffers, some.symbols);
  EXPECT_EQ(traffic.in, kPiece * 4);
  EXPECT_EQ(traffic.out, traffic.in);
}

TEST_F(Offload, IsReadWhereItLies) {
  const auto held = session(plan_with_moments(kMoments));
  train(*held, 0);
  const int downloads = gpu().downloads;
  const auto first = std::as_const(*held).state("moments"), second = std::as_const(*held).state("moments");
  EXPECT_EQ(gpu().downloads, downloads) << "a checkpoint copies nothing from the device";
  EXPECT_EQ(first.data(), second.data());
}

TEST_F(Offload, TakesWhatTheHostWrites) {
  for (const int64_t resident : {0, 4, 12}) {
    const auto whole = session(plan_with_moments(-1)), some = session(plan_with_moments(resident));
    for (Session* each : {whole.get(), some.get()}) {
      const auto values = each->state_f32("moments");
      std::iota(values.begin(), values.end(), 1.0f);
      train(*each, 0);
      std::vector<float> written(kMoments, 3.5f);
      each->write_state("moments", std::as_bytes(std::span(written)));
      train(*each, 1);
    }
    EXPECT_EQ(moments(*some), moments(*whole));
    some->clear_state("moments");
    EXPECT_EQ(moments(*some), std::vector<float>(kMoments));
    train(*some, 2), whole->clear_state("moments"), train(*whole, 2);
    EXPECT_EQ(moments(*some), moments(*whole));
  }
}

TEST_F(Offload, ShowsItToWhoWatches) {
  std::vector<float> seen(kMoments);
  SessionOptions options;
  options.after_step = [&](const StepDone& done) {
    if (done.buffers[3] && done.step == static_cast<int>(done.entry.steps.size()) - 1)
      std::memcpy(seen.data(), done.buffers[3], kMoments * 4);
  };
  const auto some = session(plan_with_moments(kPiece), options);
  train(*some, 0);
  EXPECT_EQ(seen, moments(*some));
}

void expect_bad_offload(const Plan& plan, const std::string& part) {
  try {
    Session(std::make_shared<const Plan>(plan));
    ADD_FAILURE() << "expected: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST_F(Offload, IsForCopiesAlone) {
  Plan reached = plan_with_moments(0);
  reached.states[1].resident = kPiece;
  expect_bad_offload(reached, "begins at element 0 of");
  Plan across = plan_with_moments(kMoments);
  across.states[1].resident = kPiece + 2;
  expect_bad_offload(across, "of which the host holds 6");
  Plan more = plan_with_moments(0);
  more.states[1].resident = kMoments + 1;
  expect_bad_offload(more, "a GPU holds 13 of its 12 elements");
  Plan early = plan_with_moments(kMoments);
  std::get<CopyStep>(early.entries[0].steps[2].what).waited_at = 5;
  expect_bad_offload(early, "expected that one to be waited for");
}

}  // namespace
}  // namespace smelt::fake
