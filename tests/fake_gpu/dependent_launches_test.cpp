// Kernels that wait for the launches in front of theirs: which of them may begin early; and matmuls that
// templates do without being measured.
#include "runtime/cuda/device.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

/// A matmul, then "descend" three times.
Plan plan_of_launches() {
  Plan plan = linear_plan();
  plan.kernels[0].waits = true;
  std::vector<Step>& steps = plan.entries[0].steps;
  steps.push_back(steps.back()), steps.push_back(steps.back());
  return plan;
}

class DependentLaunches : public FakeGpu {
 protected:
  /// Of the kernel's launches in a first run, and in one that is a graph.
  std::vector<bool> dependent(Plan plan = plan_of_launches()) {
    std::vector<bool> found;
    gpu().kernels["descend"] = {5, [&](const KernelCall& call) {
                                  found.push_back(call.dependent);
                                  descend(call);
                                }};
    const auto made = session(std::move(plan));
    train(*made, 0), train(*made, 1);
    return found;
  }
};

/// What wrote the weights in front of the entry has ended when its first kernel begins.
TEST_F(DependentLaunches, AllButTheFirstMayBeginEarly) {
  EXPECT_EQ(dependent(), (std::vector<bool>{false, true, true, false, true, true}));
}

TEST_F(DependentLaunches, KernelsThatDoNotWaitBeginLate) {
  Plan plan = plan_of_launches();
  plan.kernels[0].waits = false;
  EXPECT_EQ(dependent(std::move(plan)), std::vector<bool>(6));
}

TEST_F(DependentLaunches, OlderGpusHaveNone) {
  gpu().capability = 80;
  if (cuda::Device::open().info().compute_capability != 80)
    GTEST_SKIP() << "a test of this process before it has opened the GPU";
  Plan plan = plan_of_launches();
  plan.target = "sm_80";
  EXPECT_EQ(dependent(std::move(plan)), std::vector<bool>(6));
}

TEST_F(DependentLaunches, OlderDriversHaveNone) {
  gpu().driver_version = 12020;
  EXPECT_EQ(dependent(), std::vector<bool>(6));
}

TEST_F(DependentLaunches, AVariableTurnsThemOff) {
  ::setenv("SMELT_DEPENDENT_LAUNCHES", "0", 1);
  EXPECT_EQ(dependent(), std::vector<bool>(6));
  ::setenv("SMELT_DEPENDENT_LAUNCHES", "no", 1);
  EXPECT_HAS(message_of([] { session(); }), "SMELT_DEPENDENT_LAUNCHES is 'no': expected 1 or 0");
  ::unsetenv("SMELT_DEPENDENT_LAUNCHES");
}

/// Two templates, of which the second takes more rows.
TEST_F(DependentLaunches, TheFirstTemplateThatTakesAMatmulDoesIt) {
  using Argument = TemplateLaunch::Argument;
  Plan plan = linear_plan();
  std::vector<std::string> ran;
  for (const auto& [name, below] : {std::pair("few", 3), {"more", 6}}) {
    KernelCode& kernel = plan.kernels.emplace_back();
    kernel.name = name, kernel.range = 1, kernel.threads = 32, kernel.binary = code("machine code");
    kernel.launch = TemplateLaunch{.step = "gemm",
                                   .arguments = {{.kind = Argument::Kind::address,
                                                  .value = Dim::symbol("c"),
                                                  .dtype = DType::f32,
                                                  .written = true}},
                                   .conditions = {{Dim::symbol("m"), 1, below}},
                                   .measured = false};
    plan.entries[0].steps[0].kernels.push_back(static_cast<int>(plan.kernels.size()) - 1);
    gpu().kernels[name] = {1, [&ran, name = std::string(name)](const KernelCall&) { ran.push_back(name); }};
  }
  const auto made = session(plan);
  for (const int64_t rows : {2, 5}) train(*made, 0, rows);
  EXPECT_EQ(ran, (std::vector<std::string>{"few", "more"}));
  EXPECT_EQ(gpu().gemms, 0) << "the library is not asked";
  train(*made, 0, 6);
  EXPECT_EQ(ran.size(), 2u);
  EXPECT_GT(gpu().gemms, 0);
}

}  // namespace
}  // namespace smelt::fake
