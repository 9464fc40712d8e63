// What a compiled plan records about itself, so that a wrong one is refused: counts of kernel arguments and
// random ids, features of the processor.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "ir/text.h"
#include "runtime/cpu/features.h"
#include "runtime/error.h"
#include "runtime/executor.h"
#include "runtime/plan_validate.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

/// One kernel with two random instructions and three arguments.
const Plan& noisy_plan() {
  static const Plan plan = [] {
    const auto module = parse_module(R"(symbols B <= 4
graph @main(%x: f32[B,33], %w: f32[33]) {
  %d = dropout %x {p = 0.25, id = 3} : f32[B,33]
  %e = dropout %d {p = 0.5, id = 8} : f32[B,33]
  %r = broadcast %w {axes = [1]} : f32[B,33]
  %y = mul %e, %r : f32[B,33]
  return y = %y
})");
    CompileOptions options;
    options.mode = Mode::infer;
    return std::move(compile(module->clone(), options).plan);
  }();
  return plan;
}

KernelStep& launch_of(Plan& plan) {
  for (Step& step : plan.entries.front().steps)
    if (auto* launch = std::get_if<KernelStep>(&step.what)) return *launch;
  fail("the plan launches no kernel");
}

TEST(PlanRecords, CountArgumentsAndRandomIds) {
  Plan plan = noisy_plan();
  const KernelStep launch = launch_of(plan);
  const KernelCode& kernel = plan.kernels[static_cast<size_t>(launch.kernel)];
  EXPECT_EQ(kernel.arguments, 3);
  EXPECT_EQ(kernel.random_ids, 2);
  EXPECT_EQ(launch.arguments.size(), 3u);
  EXPECT_EQ(launch.random_ids.size(), 2u);
  EXPECT_NO_THROW(validate(plan));
}

TEST(PlanRecords, AStepWithOtherCountsIsRefused) {
  Plan plan = noisy_plan();
  launch_of(plan).arguments.pop_back();
  EXPECT_HAS(message_of([&] { validate(plan); }), "2 arguments and 2 random ids: expected 3 and 2");
  plan = noisy_plan();
  launch_of(plan).random_ids.pop_back();
  EXPECT_HAS(message_of([&] { validate(plan); }), "3 arguments and 1 random ids: expected 3 and 2");
}

TEST(PlanRecords, NameOnlyFeaturesOfTheHost) {
  const std::vector<std::string> host = host_features();
  for (const std::string& feature : noisy_plan().features)
    EXPECT_NE(std::ranges::find(host, feature), host.end()) << feature;
  for (const char* feature : {"avx2", "fma", "avx512f"})
    EXPECT_EQ(std::ranges::count(noisy_plan().features, feature), std::ranges::count(host, feature)) << feature;
}

TEST(PlanRecords, AMissingFeatureIsRefusedByName) {
  EXPECT_NO_THROW(make_executor(std::make_shared<const Plan>(noisy_plan())));
  Plan plan = noisy_plan();
  plan.features.emplace_back("avx4096");
  EXPECT_HAS(message_of([&] { make_executor(std::make_shared<const Plan>(plan)); }), "needs avx4096");
}

}  // namespace
}  // namespace smelt
