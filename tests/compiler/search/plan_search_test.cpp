// A search for plans: it looks at every way to share the work, and its memory is that of the plan.
#include "compiler/search/plan_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "compiler/driver/summary.h"
#include "compiler/search/parallel_calls.h"
#include "compiler/search/rank_formulas.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

Description small_model(const char* heads) {
  const std::string spec =
      std::string(R"({"family": "gpt2", "vocab_size": 64, "hidden": 32, "max_positions": 32,)") +
      R"("decoder": {"layers": 2, "heads": )" + heads + "}}";
  return {Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr, Json::object(), {}};
}

const Description& model() {
  static const Description made = small_model("4");
  return made;
}

CompileOptions search_base(const char* target, int64_t batch) {
  CompileOptions options;
  options.target = target;
  options.build.bounds = {{{"B"}, batch}, {{"T"}, 16}};
  options.training.optimizer.keep_gradients = false;
  return options;
}

PlanSearch search(int64_t ranks, int64_t batch, std::optional<int64_t> budget = {},
                  const char* target = "cpu", const Description& description = model()) {
  const MachineRates rates = machine_rates(parse_target(target), -1, ranks, {});
  return search_plans(description, search_base(target, batch), rates,
                      {.ranks = ranks, .micro_batches = 1, .budget = budget, .threads = 2});
}

TEST(TrainingMeshes, AreAllWaysToMultiply) {
  std::vector<std::string> meshes;
  for (const Mesh& mesh : training_meshes(8)) meshes.push_back(str(mesh));
  EXPECT_EQ(meshes, (std::vector<std::string>{"data = 8", "data = 4, model = 2", "data = 4, stage = 2",
                                              "data = 2, model = 4", "data = 2, model = 2, stage = 2",
                                              "data = 2, stage = 4", "model = 8", "model = 4, stage = 2",
                                              "model = 2, stage = 4", "stage = 8"}));
  EXPECT_EQ(training_meshes(1), std::vector<Mesh>{Mesh{}});
  EXPECT_EQ(training_meshes(6).size(), 9u);
}

TEST(WithBatch, ChangesProductsToo) {
  const auto bounds = with_batch({{{"B"}, 8}, {{"T"}, 16}, {{"B", "T"}, 100}}, 8, 2);
  EXPECT_EQ(bounds[0].upper, 2);
  EXPECT_EQ(bounds[1].upper, 16);
  EXPECT_EQ(bounds[2].upper, 25);
  EXPECT_EQ(with_batch({}, 8, 3).at(0).upper, 3) << "where nothing was said";
}

TEST(CallInParallel, CallsEachOnceAndRethrowsTheFirst) {
  std::vector<std::atomic<int>> calls(50);
  call_in_parallel(calls.size(), 4, [&](size_t i) { ++calls[i]; });
  EXPECT_TRUE(std::ranges::all_of(calls, [](const auto& count) { return count == 1; }));
  call_in_parallel(0, 4, [](size_t) { FAIL(); });
  try {
    call_in_parallel(8, 3, [](size_t i) {
      if (i >= 2) fail("call {}", i);
    });
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "call 2");
  }
}

TEST(PlanSearch, LooksAtEveryMeshAndVariantOrLeavesItOut) {
  const PlanSearch found = search(4, 2);
  EXPECT_EQ(found.records, 8);
  size_t all = 0;
  for (const Mesh& mesh : training_meshes(4)) all += variants_of(mesh).size();
  EXPECT_EQ(all, 3u + 6u + 4u + 2u + 4u + 2u);
  EXPECT_EQ(found.plans.size() + static_cast<size_t>(found.left_out), all);
  for (size_t i = 0; i < found.plans.size() && found.plans[i].fits; ++i) {
    const SearchedPlan& plan = found.plans[i];
    EXPECT_EQ(plan.problem, "");
    EXPECT_EQ(plan.candidate.batch * plan.candidate.micro_batches * plan.candidate.ranks("data"),
              found.records);
    const double before = i > 0 ? found.plans[i - 1].cost.time.seconds : 0;
    EXPECT_GE(plan.cost.time.seconds, before) << "by time";
    EXPECT_GT(plan.cost.time.exposed, 0) << "a CPU hides nothing";
    EXPECT_EQ(plan.cost.bubble > 0, plan.candidate.stages() > 1);
  }
  EXPECT_EQ(&found.best({}), &found.plans[0]);
}

TEST(PlanSearch, SaysWhyStagesAreNotOffered) {
  MachineRates rates = machine_rates(parse_target("cpu"), -1, 2, {});
  const PlanSearch found =
      search_plans(model(), search_base("cpu", 2), rates,
                   {.ranks = 2, .budget = {}, .no_stages = "no such thing", .threads = 2});
  const auto stages =
      std::ranges::find_if(found.plans, [](const SearchedPlan& plan) { return plan.candidate.stages() > 1; });
  ASSERT_NE(stages, found.plans.end());
  EXPECT_EQ(stages->problem, "not offered: no such thing");
  EXPECT_FALSE(stages->fits);
}

/// What `compile` plans for the candidate with all its entries.
int64_t bytes_of_plan(const PlanCandidate& candidate, const CompileOptions& base, int64_t batch) {
  CompileOptions options = options_of(candidate, base, batch);
  options.entries.clear();
  const Program program = compile(model(), options, Stage::program).program;
  int64_t arena = 0, states = 0;
  for (const PlanEntry& entry : program.entries) arena = std::max(arena, entry.arena_bytes);
  for (const StateSize& size : state_sizes(program)) states += size.bytes;
  return arena + states;
}

TEST(PlanSearch, MemoryIsThatOfThePlan) {
  const PlanSearch all = search(2, 2, {}, "sm_90");
  for (const SearchedPlan& plan : all.plans) {
    if (!plan.fits || plan.candidate.stages() > 1) continue;  // of stages: stage_cost_test.cpp
    EXPECT_EQ(plan.cost.bytes(), bytes_of_plan(plan.candidate, search_base("sm_90", 2), 2))
        << str(plan.candidate.mesh) << " zero " << plan.candidate.zero;
  }
}

TEST(PlanSearch, WhatDoesNotFitIsTriedWithLessMemory) {
  const PlanSearch all = search(2, 8);
  int64_t least = all.plans[0].cost.bytes();
  for (const SearchedPlan& plan : all.plans)
    if (plan.fits) least = std::min(least, plan.cost.bytes());
  const PlanSearch tight = search(2, 8, least - 1);
  const SearchedPlan& best = tight.best(least - 1);
  EXPECT_LT(best.cost.bytes(), least);
  EXPECT_TRUE(best.candidate.micro_batches > 1 || best.candidate.recompute.has_price());
  EXPECT_GE(best.cost.time.seconds, all.plans[0].cost.time.seconds);
  for (const SearchedPlan& plan : tight.plans)
    EXPECT_EQ(plan.candidate.batch * plan.candidate.micro_batches * plan.candidate.ranks("data"),
              tight.records);
}

TEST(PlanSearch, SaysTheLeastWhereNothingFits) {
  const PlanSearch none = search(2, 2, 1000);
  try {
    none.best(1000);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no plan fits"), std::string::npos) << error.what();
  }
}

TEST(PlanSearch, SaysWhatCannotBeDivided) {
  const PlanSearch odd = search(3, 1, {}, "cpu", small_model("4"));
  const auto model_alone = std::ranges::find_if(
      odd.plans, [](const SearchedPlan& plan) { return plan.candidate.mesh.find("model").has_value(); });
  ASSERT_NE(model_alone, odd.plans.end());
  EXPECT_FALSE(model_alone->fits);
  EXPECT_NE(model_alone->problem.find("3"), std::string::npos) << model_alone->problem;
  EXPECT_TRUE(odd.best({}).candidate.mesh.find("data"));
}

TEST(PlanSearch, RefusesWhatItCannotSearch) {
  const MachineRates rates = machine_rates({}, -1, 2, {});
  PlanSearchOptions two;
  two.ranks = 2;
  CompileOptions infer = search_base("cpu", 2);
  infer.mode = Mode::infer;
  EXPECT_THROW(search_plans(model(), infer, rates, two), Error);
  CompileOptions chosen = search_base("cpu", 2);
  chosen.pipeline = "simplify";
  EXPECT_THROW(search_plans(model(), chosen, rates, two), Error);
}

/// Adam: the table of docs/guides/distributed.md.
double documented_bytes(double elements, int zero, double ranks, DType storage) {
  const bool narrow = storage != DType::f32;
  if (zero == 0) return elements * (narrow ? 14 : 12);
  if (zero < 3) return elements * (narrow ? 2 + 12 / ranks : 4 + 8 / ranks);
  return elements * (narrow ? 14 : 12) / ranks;
}

TEST(RankFormulas, StatesAreWithinOnePercent) {
  const Description large{
      Description::Kind::spec,
      "spec.json",
      spec_from_json(R"({"family": "gpt2", "vocab_size": 512, "hidden": 128, "max_positions": 32,
                              "decoder": {"layers": 1, "heads": 4}})"),
      nullptr,
      Json::object(),
      {}};
  for (const DType storage : {DType::f32, DType::bf16})
    for (const int zero : {0, 1, 3}) {
      CompileOptions options = search_base("cpu", 2);
      options.storage = storage, options.zero = zero, options.mesh = parse_mesh("data=4");
      options.training.accumulation = false;
      options.entries = {"train_step"};
      const Program program = compile(large, options, Stage::program).program;
      double planned = 0;
      for (const StateSize& size : state_sizes(program))
        if (size.role != Role::gradient) planned += static_cast<double>(size.bytes);
      const auto elements = static_cast<double>(trained_elements(program));
      EXPECT_NEAR(planned / documented_bytes(elements, zero, 4, storage), 1, 0.01) << zero;
      double all = 0;
      for (const StateSize& size : state_sizes(program)) all += static_cast<double>(size.bytes);
      EXPECT_NEAR(all / state_bytes_by_formula(program), 1, 0.01) << zero;
    }
}

TEST(RankFormulas, GradientsAndParametersCrossEachLink) {
  for (int zero = 0; zero <= 3; ++zero) {
    CompileOptions options = search_base("cpu", 2);
    options.zero = zero, options.mesh = parse_mesh("data=2");
    options.zero_bucket = 2048;  // one bucket would be gathered once
    options.training.accumulation = false;
    options.entries = {"train_step"};
    const Program program = compile(model(), options, Stage::program).program;
    double moved = 0;
    for (const CollectiveUse& use :
         collective_uses(program, program.entries[0], machine_rates({}, -1, 2, {}).collectives))
      moved += use.link_bytes;
    EXPECT_NEAR(moved / data_bytes_by_formula(program), 1, 0.05) << zero;
  }
}

}  // namespace
}  // namespace smelt
