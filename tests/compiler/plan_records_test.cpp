// What a compiled plan records about itself, so that a wrong one is refused: counts of kernel arguments and
// random ids, features of the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/driver/compile.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"
#include "runtime/cpu/features.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/session/executor.h"
#include "runtime/session/session.h"
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
  EXPECT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.random_ids, 2);
  EXPECT_EQ(launch.arguments.size(), 3u);
  EXPECT_EQ(std::set<uint32_t>(launch.random_ids.begin(), launch.random_ids.end()),
            (std::set<uint32_t>{3, 8}));
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
    EXPECT_EQ(std::ranges::count(noisy_plan().features, feature), std::ranges::count(host, feature))
        << feature;
}

TEST(PlanRecords, AMissingFeatureIsRefusedByName) {
  EXPECT_NO_THROW(make_executor(std::make_shared<const Plan>(noisy_plan())));
  Plan plan = noisy_plan();
  plan.features.emplace_back("avx4096");
  EXPECT_HAS(message_of([&] { make_executor(std::make_shared<const Plan>(plan)); }), "needs avx4096");
}

// ---- ids

std::shared_ptr<const Plan> text_plan(std::string_view text) {
  CompileOptions options;
  options.mode = Mode::infer;
  return std::make_shared<const Plan>(std::move(compile(parse_module(text), options).plan));
}

/// What a run of the first entry says to these numbers of the input `name`; the other inputs are zeros.
std::string answer(Session& session, const std::string& name, const std::vector<int32_t>& ids) {
  const std::vector<std::byte> zeros(1 << 12);
  std::vector<InputTensor> inputs;
  for (const Port& port : session.plan().entries.front().inputs) {
    std::vector<int64_t> shape;
    for (const Dim& dim : port.shape)
      shape.push_back(dim.evaluate({{"B", static_cast<int64_t>(ids.size())}}));
    const void* data = port.name == name ? static_cast<const void*>(ids.data()) : zeros.data();
    inputs.push_back({port.name, port.dtype, shape, data});
  }
  try {
    session.run(session.plan().entries.front().name, inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "fine";
}

TEST(PlanRecords, IdsOfATextGraphAreChecked) {
  Session session(text_plan(R"(symbols B <= 8
parameter "table" {init = normal(1)} : f32[37,5]
parameter "few" {init = normal(1)} : f32[5,5]
graph @main(%words: i32[B], %kinds: i32[B], %numbers: i32[B]) {
  %t = parameter "table"
  %f = parameter "few"
  %y = embedding %t, %words : f32[B,5]
  %z = gather %f, %kinds {axis = 0} : f32[B,5]
  %s = add %y, %z : f32[B,5]
  %n = convert %numbers : f32[B]
  return s = %s, n = %n
})"));
  session.initialize();
  EXPECT_EQ(answer(session, "words", {0, 36, 5}), "fine");
  EXPECT_EQ(answer(session, "words", {0, 1, 37}),
            "entry 'main', input 'words': element 2 is 37, expected an id from 0 to 36");
  EXPECT_HAS(answer(session, "words", {-1}), "element 0 is -1, expected an id from 0 to 36");
  EXPECT_HAS(answer(session, "kinds", {4, 5}), "input 'kinds': element 1 is 5, expected an id from 0 to 4");
  EXPECT_EQ(answer(session, "numbers", {-7, 1 << 30}), "fine") << "no index: any numbers";
}

TEST(PlanRecords, LabelsOfATextGraphMayBeIgnored) {
  Session session(text_plan(R"(symbols B <= 8
graph @main(%x: f32[B,7], %labels: i32[B]) {
  %y = cross_entropy %x, %labels {ignore_index = -100} : f32[B]
  return y = %y
})"));
  EXPECT_EQ(answer(session, "labels", {0, 6, -100}), "fine");
  EXPECT_EQ(answer(session, "labels", {0, 7}),
            "entry 'main', input 'labels': element 1 is 7, expected an id from 0 to 6, or -100 to ignore it");
  EXPECT_HAS(answer(session, "labels", {-1}), "element 0 is -1");
}

TEST(PlanRecords, IdsOfAModelComeFromItsGraphs) {
  const auto golden = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";
  CompileOptions options;
  options.training.accumulation = true;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 8}};
  const Program program = compile(read_description(golden), options, Stage::program).program;
  int seen = 0;
  for (const PlanEntry& entry : program.entries)
    for (const Port& port : entry.inputs) {
      const IdRange expected = port.name == "labels" ? IdRange{131, -100} : IdRange{131};
      EXPECT_EQ(port.ids, expected) << entry.name << " " << port.name;
      ++seen;
    }
  EXPECT_EQ(seen, 7) << "train_step, accumulate and evaluate with labels, logits without";
}

}  // namespace
}  // namespace smelt
