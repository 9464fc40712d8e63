// What a search predicts of stages, and the bound that it leaves candidates out by.
#include "compiler/search/stage_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/search/least_time.h"
#include "compiler/search/plan_cost.h"

namespace smelt {
namespace {

constexpr int64_t kStageRecords = 8;

const Description& staged_model() {
  static const Description made{
      Description::Kind::spec,
      "spec.json",
      spec_from_json(R"({"family": "gpt2", "vocab_size": 64, "hidden": 32, "max_positions": 32,
                         "decoder": {"layers": 4, "heads": 4}})"),
      nullptr,
      Json::object(),
      {}};
  return made;
}

const MachineRates& stage_rates() {
  static const MachineRates rates = machine_rates(parse_target("cpu"), -1, 4, {});
  return rates;
}

std::vector<Program> programs_of(const PlanCandidate& candidate) {
  CompileOptions base;
  base.build.bounds = {{{"B"}, kStageRecords}, {{"T"}, 16}};
  base.training.optimizer.keep_gradients = false;
  base.entries = {"train_step"};
  std::vector<Program> programs;
  for (int64_t stage = 0; stage < candidate.stages(); ++stage)
    programs.push_back(
        compile(staged_model(), options_of(candidate, base, kStageRecords, stage), Stage::program).program);
  return programs;
}

PlanCandidate staged(const char* mesh, int64_t micro_batches, int64_t parts = 1) {
  PlanCandidate candidate;
  candidate.mesh = parse_mesh(mesh), candidate.parts_a_stage = parts;
  candidate.micro_batches = micro_batches;
  candidate.batch = kStageRecords / micro_batches;
  return candidate;
}

PlanCost cost_of_stages(const PlanCandidate& candidate) {
  return cost_of(programs_of(candidate), candidate, stage_rates());
}

TEST(StageCost, TheBubbleShrinksWithMicroBatchesAndParts) {
  const PlanCost few = cost_of_stages(staged("stage=2", 2)), many = cost_of_stages(staged("stage=2", 8)),
                 parts = cost_of_stages(staged("stage=2", 2, 2));
  for (const PlanCost* cost : {&few, &many, &parts}) {
    EXPECT_GT(cost->bubble, 0);
    EXPECT_LT(cost->bubble, 1);
    EXPECT_GT(cost->time.exposed, 0) << "what the copies of the tied matrix add up";
    EXPECT_GE(cost->time.seconds, cost->time.compute + cost->time.exposed)
        << "no stage is faster than its own work";
  }
  EXPECT_LT(many.bubble, few.bubble);
  EXPECT_LT(parts.bubble, few.bubble);
}

TEST(StageCost, AStageKeepsAsManyMicroBatchesAsFollow) {
  const PlanCandidate one = staged("stage=2", 1), four = staged("stage=2", 4);
  std::vector<Program> programs = programs_of(one);
  const int64_t first = kept_bytes(programs[0], one), last = kept_bytes(programs[1], one);
  EXPECT_GT(first, 0);
  EXPECT_GT(last, 0);
  PlanCandidate more = one;  // the same programs, more of them in flight
  more.micro_batches = 4;
  EXPECT_GT(kept_bytes(programs[0], more), first);
  EXPECT_LT(kept_bytes(programs[0], more), 2 * first) << "gradients cross once";
  EXPECT_EQ(kept_bytes(programs[1], more), last);
  EXPECT_LT(kept_bytes(programs_of(four)[0], four), kept_bytes(programs[0], more)) << "smaller batches";
}

/// Of plans with as many ranks along model as the plain one.
void expect_above(const char* plain, const std::vector<PlanCandidate>& candidates) {
  LeastTime least(programs_of(staged(plain, 1)).front(), kStageRecords, stage_rates().compute);
  for (const PlanCandidate& candidate : candidates)
    EXPECT_GE(cost_of_stages(candidate).time.seconds, 0.999 * least.of(candidate))
        << str(candidate.mesh) << " zero " << candidate.zero << " parts " << candidate.parts_a_stage;
}

TEST(LeastTime, IsBelowWhatIsPredicted) {
  PlanCandidate zero = staged("data=4", 1);
  zero.zero = 1;
  expect_above("data=4", {zero, staged("data=2,stage=2", 4), staged("data=2,stage=2", 2, 2)});
}

TEST(LeastTime, IsBelowWhatSharesSequences) {
  PlanCandidate cut = staged("data=2,model=2", 1);
  cut.sequence_parallel = true;
  expect_above("data=2,model=2", {cut, staged("model=2,stage=2", 4)});
}

}  // namespace
}  // namespace smelt
