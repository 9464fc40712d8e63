#include "runtime/engine/training/pipeline_stage.h"

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/engine/training/port_rings.h"
#include "runtime/engine/training/stage_messages.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

Plan stage_plan(const std::vector<std::string>& entries) {
  Plan plan;
  plan.mesh = {{{"data", 2}, {"stage", 2}}};
  for (const std::string& name : entries) plan.entries.push_back({.name = name});
  return plan;
}

TEST(PipelineStage, IsReadOffTheEntries) {
  const Plan plan = stage_plan({"batch", "forward.1", "backward.1", "forward.3", "backward.3", "apply"});
  const auto stage = pipeline_stage(plan);
  ASSERT_TRUE(stage);
  EXPECT_EQ(stage->stage, 1);
  EXPECT_EQ(stage->parts_a_stage, 2);
  EXPECT_EQ(stage->axis, 1u);
  EXPECT_TRUE(pipeline_stage(plan, 3));
  EXPECT_THROW(pipeline_stage(plan, 2), Error);
  EXPECT_FALSE(pipeline_stage(stage_plan({"train_step"})));
  EXPECT_THROW(pipeline_stage(stage_plan({"forward.1"})), Error);
}

// ---- messages

/// Of two stages with one part each: the first makes values of this type, the second reads what it names.
Plan boundary_plan(int64_t stage, DType made, const std::string& read) {
  Plan plan;
  plan.mesh = {{{"stage", 2}}};
  const Shape shape = {Dim::symbol("B")};
  PlanEntry forward{.name = part_entry("forward", stage)}, backward{.name = part_entry("backward", stage)};
  if (stage == 0) {
    forward.outputs = {{"values.1.1", DType::i32, shape, 0}, {"values.1.0", made, shape, 0}};
    backward.inputs = {{"gradients.1.0", DType::f32, shape, 0}};
  } else {
    forward.inputs = {{"x", DType::i32, shape, 0}, {read, DType::bf16, shape, 0}};
    backward.inputs = {{"values.1.1", DType::i32, shape, 0}};
    backward.outputs = {{"gradients.1.0", DType::f32, shape, 0}, {"gradients.1.1", DType::f32, shape, 0}};
  }
  plan.entries = {forward, backward};
  return plan;
}

std::vector<std::string> agreed(int64_t stage, StageMessage what, RankGroups& ranks, DType made,
                                const std::string& read) {
  const StageMessages messages(boundary_plan(stage, made, read), {0, 2, stage, 1}, ranks.along(0));
  std::vector<std::string> names;
  for (const Port& port : messages.across(what, 1)) names.push_back(port.name);
  return names;
}

std::string refusal(DType made, const std::string& read) {
  try {
    test::ThreadRanks({{{"stage", 2}}}).run([&](RankGroups& ranks) {
      agreed(ranks.rank(), StageMessage::values, ranks, made, read);
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

/// In the order in which the receiver reads them, and nothing that it does not read.
TEST(StageMessages, AreWhatTheReceiverReads) {
  test::ThreadRanks({{{"stage", 2}}}).run([](RankGroups& ranks) {
    const auto names = [&](StageMessage what) {
      return agreed(ranks.rank(), what, ranks, DType::bf16, "values.1.0");
    };
    EXPECT_EQ(names(StageMessage::values), (std::vector<std::string>{"values.1.0", "values.1.1"}));
    EXPECT_EQ(names(StageMessage::gradients), (std::vector<std::string>{"gradients.1.0"}));
  });
}

TEST(StageMessages, NameBothStagesOfWhatDoesNotFit) {
  const std::string type = refusal(DType::f32, "values.1.0"), missing = refusal(DType::bf16, "values.1.2");
  EXPECT_NE(type.find("'values.1.0' is f32[B] in the plan of stage 0"), std::string::npos) << type;
  EXPECT_NE(type.find("bf16[B] in that of stage 1"), std::string::npos) << type;
  EXPECT_NE(missing.find("stage 1 reads 'values.1.2'"), std::string::npos) << missing;
}

TEST(StageMessages, HaveALinkEachWay) {
  using Links = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(message_links({0, 3, 0, 1}), (Links{{0, 1}, {1, 0}, {1, 2}, {2, 1}}));
  EXPECT_EQ(message_links({0, 3, 0, 2}), (Links{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}));
  EXPECT_EQ(message_links({0, 2, 1, 4}), (Links{{0, 1}, {1, 0}}));
}

// ---- places

/// From the first step on a micro-batch to its last: with few stages behind, few micro-batches at once.
TEST(PlacesNeeded, AreThoseOfTheSchedule) {
  const auto needed = [](PipelineOrder order, const PipelineShape& shape, int64_t part) {
    const PipelineSchedule schedule = make_schedule(order, shape);
    return places_needed(schedule.stages[static_cast<size_t>(shape.stage_of(part))], part);
  };
  for (int64_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(needed(PipelineOrder::gpipe, {4, 9, 1}, stage), 9);
    EXPECT_EQ(needed(PipelineOrder::one_f_one_b, {4, 9, 1}, stage), 4 - stage);
    EXPECT_EQ(needed(PipelineOrder::one_f_one_b, {4, 2, 1}, stage), std::min<int64_t>(2, 4 - stage));
  }
  for (int64_t part = 0; part < 6; ++part) {
    const PipelineShape shape{3, 8, 2};
    const auto least =
        ring_sizes(make_schedule(PipelineOrder::interleaved, shape))[static_cast<size_t>(part)];
    const int64_t places = needed(PipelineOrder::interleaved, shape, part);
    EXPECT_GE(places, least);
    EXPECT_LE(places, 8);
  }
}

}  // namespace
}  // namespace smelt
