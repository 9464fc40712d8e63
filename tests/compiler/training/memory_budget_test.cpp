// Memory by budget: the curve is exact about memory, a budget takes the fastest plan that fits, and what
// trains under it is the same model.
#include "compiler/driver/memory_choice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/driver/plan_cache.h"
#include "frontend/description.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_costs.h"
#include "runtime/session/executor.h"
#include "runtime/session/session.h"

namespace smelt {
namespace {

const Description& description() {
  static const Description made{Description::Kind::spec,
                                "spec.json",
                                spec_from_json(R"({"family": "gpt2", "vocab_size": 61, "hidden": 32,
                                    "max_positions": 64, "decoder": {"layers": 4, "heads": 2}})"),
                                nullptr,
                                Json::object(),
                                {}};
  return made;
}

CompileOptions options_for(const char* target) {
  CompileOptions options;
  options.target = target;
  if (std::string_view(target) != "cpu") options.storage = DType::bf16;
  options.attention = AttentionForm::fused;
  options.offload.automatic = false;  // offload_test.cpp has that way to meet a budget
  options.entries = {"train_step", "accumulate"};
  options.build.bounds = {{{"B"}, 16}, {{"T"}, 64}};
  options.build.dropout = 0.1;
  return options;
}

const std::vector<MemoryPoint>& curve(const char* target) {
  static std::map<std::string, std::vector<MemoryPoint>> known;
  if (!known.contains(target)) {
    CompileOptions options = options_for(target);
    options.memory_curve = true;
    known[target] = compile(description(), options, Stage::fused).curve;
  }
  return known[target];
}

int64_t planned_bytes(const Compilation& compilation) {
  int64_t arena = 0, states = 0;
  for (const MemoryReport& report : compilation.memory) arena = std::max(arena, report.arena);
  for (const State& state : compilation.program.states)
    states += bytes_at_bounds(compilation.program.symbols, element_count(state.shape), state.dtype);
  return arena + states;
}

TEST(MemoryCurveOfAPolicy, HasIt) {
  CompileOptions options = options_for("sm_90");
  options.memory_curve = true;
  options.recompute = parse_recompute_policy("price=inf,layers=4");
  const auto points = compile(description(), options, Stage::fused).curve;
  EXPECT_EQ(std::ranges::count(points, options.recompute, &MemoryPoint::policy), 1);
}

class MemoryCurve : public ::testing::TestWithParam<const char*> {};

TEST_P(MemoryCurve, TradesTimeForMemory) {
  const auto& points = curve(GetParam());
  ASSERT_GE(points.size(), 3u);
  EXPECT_FALSE(points.front().policy.has_price());
  EXPECT_EQ(points.front().recomputed_flops, 0);
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_GE(points[i].seconds, points[i - 1].seconds) << points[i].policy.str();
    EXPECT_LT(points[i].bytes(), points[i - 1].bytes()) << points[i].policy.str();
    EXPECT_GT(points[i].recomputed_flops, 0) << points[i].policy.str();
  }
  EXPECT_LT(2 * points.back().kept_bytes, points.front().kept_bytes);
}

TEST_P(MemoryCurve, MemoryIsThatOfThePlans) {
  const auto& points = curve(GetParam());
  for (const size_t i : {size_t{0}, points.size() / 2, points.size() - 1}) {
    CompileOptions options = options_for(GetParam());
    options.recompute = parse_recompute_policy(points[i].policy.str());
    EXPECT_EQ(planned_bytes(compile(description(), options, Stage::program)), points[i].bytes())
        << points[i].policy.str();
  }
}

TEST_P(MemoryCurve, TheFastestThatFitsIsTaken) {
  const auto& points = curve(GetParam());
  for (const size_t i : {size_t{1}, points.size() - 1}) {
    CompileOptions options = options_for(GetParam());
    options.memory_budget = points[i].bytes();
    const Compilation made = compile(description(), options, Stage::program);
    const RecomputePolicy taken = fastest_within(made.curve, *options.memory_budget);
    const auto point = std::ranges::find(made.curve, taken, &MemoryPoint::policy);
    EXPECT_LE(planned_bytes(made), *options.memory_budget);
    EXPECT_EQ(planned_bytes(made), point->bytes()) << taken.str();
    EXPECT_LE(point->seconds, points[i].seconds) << taken.str();
  }
}

TEST_P(MemoryCurve, BetweenTwoPoliciesSomeSegmentsHaveOne) {
  const auto& points = curve(GetParam());
  CompileOptions options = options_for(GetParam());
  options.memory_budget = (points[0].bytes() + points[1].bytes()) / 2;
  const Compilation made = compile(description(), options, Stage::program);
  const RecomputePolicy taken = fastest_within(made.curve, *options.memory_budget);
  EXPECT_LE(planned_bytes(made), *options.memory_budget);
  EXPECT_LT(taken.share, 1) << taken.str();
}

INSTANTIATE_TEST_SUITE_P(Targets, MemoryCurve, ::testing::Values("cpu", "sm_90"));

std::string fault(const CompileOptions& options) {
  try {
    compile(description(), options, Stage::fused);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(MemoryBudget, WhatFitsInNoneSaysTheLeast) {
  CompileOptions options = options_for("cpu");
  options.memory_budget = 1000;
  const std::string message = fault(options);
  for (const char* part :
       {"no plan fits", "the least is", "of 1000 B", "other states take", "--recompute=price="})
    EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
}

TEST(MemoryBudget, IsForTrainingByTheDefaultPipeline) {
  CompileOptions infer = options_for("cpu"), pipeline = options_for("cpu");
  infer.memory_budget = pipeline.memory_budget = int64_t{1} << 40;
  infer.mode = Mode::infer;
  infer.entries = {}, infer.build.dropout.reset();
  pipeline.pipeline = "decompose,simplify";
  EXPECT_NE(fault(infer).find("training steps"), std::string::npos) << fault(infer);
  EXPECT_NE(fault(pipeline).find("--pipeline"), std::string::npos) << fault(pipeline);
}

TEST(MemoryBudget, PlansOfOtherPoliciesAreOthers) {
  CompileOptions options = options_for("cpu");
  const std::string key = plan_key(description(), options);
  if (key.empty()) GTEST_SKIP() << "this build has no id";
  options.memory_budget = 1 << 20;
  const std::string budget = plan_key(description(), options);
  options.memory_budget = {};
  options.recompute = parse_recompute_policy("layers");
  EXPECT_NE(key, budget);
  EXPECT_NE(key, plan_key(description(), options));
  EXPECT_NE(budget, plan_key(description(), options));
}

// ---- training under a policy

using Bytes = std::map<std::string, std::vector<std::byte>>;

std::shared_ptr<const Plan> plan_for(const char* policy) {
  CompileOptions options = options_for("cpu");
  options.entries = {"train_step"};
  options.recompute = parse_recompute_policy(policy);
  return std::make_shared<const Plan>(compile(description(), options).plan);
}

/// What two steps leave.
Bytes after_steps(const std::shared_ptr<const Plan>& plan) {
  Session session(plan, {.threads = 2, .poison = true});
  session.initialize(1);
  std::mt19937 engine(5);
  Bytes all;
  for (const int step : {0, 1}) {
    std::vector<int32_t> ids(3 * 13), labels(3 * 13);
    for (auto* list : {&ids, &labels})
      for (int32_t& id : *list) id = static_cast<int32_t>(engine() % 61);
    session.set_random(7, step, 0);
    const std::vector<InputTensor> inputs = {{"input_ids", DType::i32, {3, 13}, ids.data()},
                                             {"labels", DType::i32, {3, 13}, labels.data()}};
    for (const HostTensor& output : session.run("train_step", inputs))
      all[output.name + std::to_string(step)] = output.bytes;
  }
  for (const State& state : plan->states) {
    const auto bytes = session.state(state.name);
    all[state.name].assign(bytes.begin(), bytes.end());
  }
  return all;
}

double distance(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i + 4 <= b.size(); i += 4) {
    float x = 0, y = 0;
    std::memcpy(&x, a.data() + i, 4), std::memcpy(&y, b.data() + i, 4);
    difference += (double{x} - y) * (double{x} - y), norm += double{y} * y;
  }
  return std::sqrt(difference / std::max(norm, 1e-30));
}

TEST(RecomputedTraining, IsWithinRoundings) {
  const auto cheap = plan_for("cheap");
  const Bytes expected = after_steps(cheap);
  const SymbolValues sizes = {{"B", 3}, {"T", 13}};
  const auto plan = plan_for("price=inf,layers=1,share=0.6");
  EXPECT_LT(plan->entries[0].arena_bytes, cheap->entries[0].arena_bytes);
  EXPECT_EQ(matrix_flops(plan->entries[0], sizes), matrix_flops(cheap->entries[0], sizes));
  EXPECT_TRUE(std::ranges::any_of(plan->entries[0].steps, &Step::recomputed));
  const Bytes actual = after_steps(plan);
  for (const auto& [name, bytes] : expected) EXPECT_LE(distance(actual.at(name), bytes), 2e-6) << name;
}

}  // namespace
}  // namespace smelt
