// Steps that are alternatives of one another: each is timed at first use, the fastest is taken and kept.
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/step_choices.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_validate.h"
#include "tests/fake_gpu/example.h"
#include "tests/fake_gpu/other_process.h"

namespace smelt::fake {
namespace {

/// train_step: h = x W^T; y = h by "one", or by "first" and "second" over a workspace; then `descend`.
Plan plan_with_choice() {
  Plan plan = linear_plan();
  const Dim rows = Dim::symbol("B");
  const auto add_buffer = [&](const char* name, int64_t offset, int first, int last) {
    plan.buffers.push_back({.name = name,
                            .role = Role::temporary,
                            .elements = rows * kOut,
                            .offset_bytes = offset,
                            .bytes = kMostRows * kOut * 4,
                            .first_step = first,
                            .last_step = last});
    return static_cast<int>(plan.buffers.size()) - 1;
  };
  const int h = add_buffer("h", 0, 0, 3), work = add_buffer("work", 256, 2, 3);
  for (const char* name : {"one", "first", "second"})
    plan.kernels.push_back({.name = name,
                            .text = "",
                            .dims = {rows},
                            .range = rows,
                            .parameters = {{}, {.read = false, .written = true}},
                            .threads = 32,
                            .binary = code(std::string(name) + ", as machine code")});
  PlanEntry& entry = plan.entries[0];
  entry.arena_bytes = 512;
  entry.choices = {{{"at once", "in two"}}};
  const auto step = [&](int kernel, int from, int to, int alternative) {
    return Step{.what = KernelStep{kernel, {{from, 0}, {to, 0}}, {}},
                .reads = {from},
                .writes = {to},
                .may_alias = {},
                .sources = {"head.copy"},
                .phase = "forward",
                .choice = 0,
                .alternative = alternative};
  };
  Step gemm = entry.steps[0];
  std::get<GemmStep>(gemm.what).c.base.buffer = h, gemm.writes = {h};
  entry.steps = {gemm, step(1, h, 2, 0), step(2, h, work, 1), step(3, work, 2, 1), entry.steps[1]};
  return plan;
}

/// y = x + `added`, in so many milliseconds.
Kernel adds(float added, double milliseconds) {
  return {5, [=](const KernelCall& call) {
            const auto* x = call.argument<const float*>(0);
            auto* y = call.argument<float*>(1);
            for (int64_t i = 0; i < call.argument<int64_t>(3) * kOut; ++i) y[i] = x[i] + added;
            gpu().clock += milliseconds;
          }};
}

class Alternatives : public FakeGpu {
 protected:
  /// How long each takes; the results tell them apart.
  static void take(double at_once, double in_two) {
    gpu().kernels["one"] = adds(1, at_once);
    gpu().kernels["first"] = adds(7, in_two / 2), gpu().kernels["second"] = adds(-5, in_two / 2);
  }
  Alternatives() { take(3, 2); }

  static std::string taken(Session& session) {
    const std::vector<ChoiceTaken> all = session.executor().taken();
    EXPECT_EQ(all.size(), 1u);
    const ChoiceTaken& last = all.front();
    return last.entry->choices[static_cast<size_t>(last.choice)]
        .alternatives[static_cast<size_t>(last.alternative)];
  }
  std::filesystem::path record() const {
    for (const auto& file : std::filesystem::directory_iterator(cache_.path()))
      if (file.path().filename().string().starts_with("alternatives-") && file.path().extension() == ".json")
        return file.path();
    return {};
  }
};

TEST_F(Alternatives, TheFastestIsTaken) {
  for (const auto& [times, name, added] :
       {std::tuple(std::pair(3.0, 2.0), "in two", 2.F), std::tuple(std::pair(1.0, 2.0), "at once", 1.F)}) {
    std::filesystem::remove_all(cache_.path());
    take(times.first, times.second);
    const auto ready = session(plan_with_choice()), plain = session();
    const std::vector<float> y = train(*ready, 0), expected = train(*plain, 0);
    EXPECT_EQ(taken(*ready), name);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i] + added, 1e-5);
  }
}

/// Runs that are measured leave no trace in the states, nor do graphs run another one.
TEST_F(Alternatives, OneIsRunOnceAStep) {
  Plan alone = plan_with_choice();
  std::vector<Step>& steps = alone.entries[0].steps;
  steps.erase(steps.begin() + 1);
  for (Step& step : steps) step.choice = -1, step.alternative = 0;
  alone.entries[0].choices.clear();
  for (Buffer& buffer : alone.buffers)
    if (buffer.role == Role::temporary) buffer.first_step = 0, buffer.last_step = 2;
  const auto measured = session(plan_with_choice()), fixed = session(alone);
  for (int64_t step = 0; step < 4; ++step) EXPECT_EQ(train(*measured, step), train(*fixed, step));
  EXPECT_EQ(weights(*measured), weights(*fixed));
}

TEST_F(Alternatives, AreMeasuredOnceForSizesThatAreNear) {
  const auto ready = session(plan_with_choice());
  train(*ready, 0, 8);
  const std::string before = ready->executor().choices();
  const int launches = gpu().launches;
  train(*ready, 1, 8), train(*ready, 2, 8);
  EXPECT_LE(gpu().launches - launches, 3) << "one capture";
  EXPECT_EQ(ready->executor().choices(), before);
  train(*ready, 3, 2);
  EXPECT_NE(ready->executor().choices(), before) << "other sizes";
}

TEST_F(Alternatives, OfOneNothingIsMeasured) {
  Plan plan = plan_with_choice();
  PlanEntry& entry = plan.entries[0];
  entry.choices[0].alternatives.pop_back();
  entry.steps.erase(entry.steps.begin() + 2, entry.steps.begin() + 4);
  plan.buffers[3].last_step = 1;
  const auto ready = session(plan);
  const int launches = gpu().launches;
  train(*ready, 0);
  EXPECT_EQ(gpu().launches - launches, 2);
  EXPECT_EQ(record(), "");
}

// ---- what is kept

TEST_F(Alternatives, TheNextProcessTakesWhatIsKept) {
  train(*session(plan_with_choice()), 0);
  ASSERT_NE(record(), "");
  take(1, 9);
  const int launches = gpu().launches;
  const auto next = session(plan_with_choice());
  train(*next, 0);
  EXPECT_EQ(taken(*next), "in two");
  EXPECT_EQ(gpu().launches - launches, 3) << "nothing is measured";
}

TEST_F(Alternatives, OtherCodeIsMeasuredAnew) {
  train(*session(plan_with_choice()), 0);
  take(1, 9);
  Plan plan = plan_with_choice();
  plan.kernels[1].binary = code("one, compiled again");
  const auto next = session(plan);
  train(*next, 0);
  EXPECT_EQ(taken(*next), "at once");
}

TEST_F(Alternatives, ARecordThatDoesNotReadIsMadeAgain) {
  const Plan plan = plan_with_choice();
  train(*session(plan), 0);
  const auto kept = Json::parse(std::ifstream(record()));
  Json of_another = kept, of_no_text = kept;
  of_another.begin().value() = "in three", of_no_text.begin().value() = 1;
  take(1, 9);
  for (const std::string& text :
       {std::string("{\"damaged"), std::string("[1]"), std::string(), of_another.dump(), of_no_text.dump()}) {
    std::ofstream(record()) << text;
    const auto next = session(plan);
    train(*next, 0);
    EXPECT_EQ(taken(*next), "at once") << text;
    EXPECT_EQ(Json::parse(std::ifstream(record())).begin().value(), "at once") << text;
  }
}

TEST_F(Alternatives, ADirectoryThatCannotBeWrittenIsNoFault) {
  ::setenv("SMELT_CACHE_DIR", "/dev/null/cache", 1);
  const auto ready = session(plan_with_choice());
  train(*ready, 0);
  EXPECT_EQ(taken(*ready), "in two");
}

/// Ranks measure at the same time: all take what the first has kept.
TEST_F(Alternatives, TheFirstProcessDecidesForAll) {
  const std::vector<std::string> names = {"a", "b"};
  cuda::StepChoices first(cache_.path(), "here"), second(cache_.path(), "here"),
      elsewhere(cache_.path(), "there");
  EXPECT_EQ(first.find("key", names), std::nullopt);
  EXPECT_EQ(second.find("key", names), std::nullopt);
  EXPECT_EQ(first.settle("key", names, 1), 1u);
  EXPECT_EQ(second.settle("key", names, 0), 1u);
  EXPECT_EQ(second.find("key", names), 1u);
  EXPECT_EQ(elsewhere.settle("key", names, 0), 0u);
}

TEST_F(Alternatives, ProcessesLoseNothingOfEachOther) {
  constexpr int kProcesses = 4, kKeys = 25;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    cuda::StepChoices choices(cache_.path(), "here");
    for (int key = 0; key < kKeys; ++key) choices.settle(fmt::format("{} {}", process, key), {"a", "b"}, 1);
    ::_exit(0);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  EXPECT_EQ(Json::parse(std::ifstream(record())).size(), kProcesses * kKeys);
}

TEST_F(Alternatives, AResumedRunTakesThoseOfItsCheckpoint) {
  const auto first = session(plan_with_choice());
  train(*first, 0);
  const std::string choices = first->executor().choices();
  take(1, 9);
  std::filesystem::remove_all(cache_.path());
  const auto resumed = session(plan_with_choice());
  EXPECT_EQ(resumed->executor().restore_choices(choices), "");
  train(*resumed, 0);
  EXPECT_EQ(taken(*resumed), "in two");
  EXPECT_EQ(resumed->executor().choices(), choices);
  gpu().driver_version = 13020;
  EXPECT_HAS(session(plan_with_choice())->executor().restore_choices(choices),
             "made on Fake GPU with driver 13.0, this is Fake GPU with driver 13.2");
}

// ---- how they run

TEST_F(Alternatives, AFaultNamesTheStepOfTheAlternative) {
  gpu().kernels["second"].run = [](const KernelCall&) { gpu().fault = 700; };
  in_another_process([] {
    const auto ready = session(plan_with_choice());
    EXPECT_HAS(message_of([&] { train(*ready, 0); }), "step 3: kernel 'second'");
  });
}

TEST_F(Alternatives, AProfileHasTheStepsThatRan) {
  SessionOptions options;
  options.profile = true;
  const auto ready = session(plan_with_choice(), options);
  for (int64_t step = 0; step < 3; ++step) train(*ready, step);
  std::vector<int> steps;
  for (const StepTime& time : ready->executor().profile()) steps.push_back(time.step);
  EXPECT_EQ(steps, (std::vector<int>{0, 2, 3, 4}));
}

/// What this GPU has not the instructions of is no alternative, and refused only where there is no other.
TEST_F(Alternatives, ThoseOfAnotherGpuAreLeftOut) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  Plan plan = plan_with_choice();
  plan.target = "sm_100";
  for (KernelCode& kernel : plan.kernels)
    kernel.source = fmt::format("extern \"C\" __global__ void {}() {{}}\n", kernel.name);
  plan.kernels[3].only_capability = 100;
  const auto ready = session(plan);
  train(*ready, 0);
  EXPECT_EQ(taken(*ready), "at once") << "which is the slower one";
  EXPECT_EQ(record(), "") << "nothing is measured";
  plan.kernels[1].only_capability = 100;
  EXPECT_HAS(message_of([&] { session(plan); }), "kernel one is for sm_100 alone, not for sm_90");
}

/// Whatever numbers say of a step, such a plan is refused or runs.
TEST_F(Alternatives, EditedPlansAreRefusedOrRun) {
  int accepted = 0, refused = 0;
  for (size_t step = 0; step < plan_with_choice().entries[0].steps.size(); ++step)
    for (int choice = -2; choice <= 1; ++choice)
      for (int alternative = -1; alternative <= 2; ++alternative) {
        Plan plan = plan_with_choice();
        plan.entries[0].steps[step].choice = choice, plan.entries[0].steps[step].alternative = alternative;
        try {
          EXPECT_EQ(train(*session(plan), 0).size(), 15u);
          ++accepted;
        } catch (const Error& error) {
          EXPECT_EQ(error.status(), Status::invalid_file) << error.what();
          ++refused;
        }
      }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

// ---- plans

std::string refusal(const std::function<void(Plan&, std::vector<Step>&)>& change) {
  Plan plan = plan_with_choice();
  change(plan, plan.entries[0].steps);
  try {
    validate(plan);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_file);
    return error.what();
  }
  return "accepted";
}

KernelStep& launch(Step& step) { return std::get<KernelStep>(step.what); }

TEST(ChoicesOfPlans, AreKeptInFiles) {
  const std::string file = serialize_plan(plan_with_choice());
  const Plan plan = parse_plan(std::as_bytes(std::span(file)), "choices.plan");
  EXPECT_EQ(plan.entries[0].choices[0].alternatives, (std::vector<std::string>{"at once", "in two"}));
  EXPECT_EQ(plan.entries[0].steps[3].choice, 0);
  EXPECT_EQ(plan.entries[0].steps[3].alternative, 1);
}

TEST(ChoicesOfPlans, StandTogetherInOrder) {
  EXPECT_EQ(refusal([](Plan&, std::vector<Step>&) {}), "accepted");
  EXPECT_HAS(refusal([](Plan&, auto& s) { s[3].alternative = 2; }),
             "choice of 3 alternatives: expected 3 names");
  EXPECT_HAS(refusal([](Plan&, auto& s) { s[1].alternative = 1; }), "is of alternative 1: expected 0");
  EXPECT_HAS(refusal([](Plan&, auto& s) { s[4].choice = 0; }), "is of alternative 0: expected 1");
  EXPECT_HAS(refusal([](Plan&, auto& s) { s[1].choice = 1; }), "belongs to choice 1: expected one of 1");
  EXPECT_HAS(
      refusal([](Plan& p, auto& s) { s[4].choice = 0, s[3].choice = -1, p.entries[0].choices.pop_back(); }),
      "belongs to choice 0: expected one of 0");
  EXPECT_HAS(refusal([](Plan&, auto& s) { s[2].alternative = 3; }), "is of alternative 3: expected 0 or the");
  EXPECT_HAS(refusal([](Plan& p, auto&) { p.entries[0].choices.clear(); }), "belongs to choice 0");
  EXPECT_HAS(refusal([](Plan& p, auto&) { p.entries[0].choices.emplace_back(); }), "choice 1 has no steps");
  EXPECT_HAS(refusal([](Plan& p, auto&) { p.entries[0].choices[0].alternatives.pop_back(); }),
             "expected 2 names, there are 1");
}

TEST(ChoicesOfPlans, AlternativesMayRunAgain) {
  EXPECT_HAS(refusal([](Plan& p, auto& s) {
               p.kernels[3].parameters[0].written = true, s[3].reads = {4}, s[3].writes = {4, 3};
               launch(s[3]).arguments[1].buffer = 3;
             }),
             "reads 'h', which an alternative writes");
  EXPECT_HAS(refusal([](Plan&, auto& s) { s[1].may_alias = {{2, 3}}; }), "may write in the place of");
  EXPECT_HAS(refusal([](Plan& p, auto&) { p.buffers[3].last_step = 2; }), "uses buffer 'h', which lives");
}

TEST(ChoicesOfPlans, AlternativesHaveTheSameResults) {
  EXPECT_HAS(refusal([](Plan&, auto& s) { s[3].writes = {4}, launch(s[3]).arguments = {{4, 0}, {4, 0}}; }),
             "does not write 'y'");
  EXPECT_HAS(refusal([](Plan& p, auto& s) {
               p.buffers[4].last_step = 4;
               s[4].reads = {4, 1}, launch(s[4]).arguments[0].buffer = 4;
             }),
             "does not write 'work'");
}

/// Each step of each alternative is checked as any other.
TEST(ChoicesOfPlans, StepsAreCheckedAsAnyOther) {
  EXPECT_HAS(refusal([](Plan&, auto& s) { launch(s[3]).arguments.pop_back(); }), "step 3");
  EXPECT_HAS(refusal([](Plan&, auto& s) { launch(s[2]).kernel = 9; }), "kernel 9: expected one of 4");
  EXPECT_HAS(refusal([](Plan& p, auto&) { p.buffers[4].offset_bytes = 64; }), "share memory");
}

}  // namespace
}  // namespace smelt::fake
