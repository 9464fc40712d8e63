#include "runtime/engine/training/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "runtime/base/error.h"
#include "runtime/engine/training/pipeline_simulation.h"

namespace smelt {
namespace {

using enum PipelineAction;

constexpr PipelineOrder kOrders[] = {PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
                                     PipelineOrder::interleaved};

PipelineTiming timing(const PipelineSchedule& schedule) {
  return simulate(schedule, equal_times(schedule.shape), ring_sizes(schedule));
}

void for_all(const std::function<void(PipelineOrder, const PipelineShape&)>& check) {
  for (const PipelineOrder order : kOrders)
    for (int64_t stages = 1; stages <= 4; ++stages)
      for (int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches)
        for (int64_t parts = 1; parts <= 3; ++parts)
          if (parts == 1 || order != PipelineOrder::one_f_one_b) check(order, {stages, micro_batches, parts});
}

TEST(PipelineSchedule, RunsToItsEndWhateverTheNumbers) {
  for_all([](PipelineOrder order, const PipelineShape& shape) {
    SCOPED_TRACE(fmt::format("{} p={} m={} v={}", name(order), shape.stages, shape.micro_batches,
                             shape.parts_a_stage));
    EXPECT_NO_THROW(timing(make_schedule(order, shape)));
  });
}

/// Idle over total time where each of a stage's m v forwards and backwards takes as long: (p-1)/(v m + p-1).
TEST(PipelineSchedule, BubbleOfEqualTimes) {
  for_all([](PipelineOrder order, const PipelineShape& shape) {
    if (order != PipelineOrder::gpipe && shape.parts_a_stage > 1 && shape.micro_batches < shape.stages)
      return;
    if (order == PipelineOrder::gpipe && shape.parts_a_stage > 1) return;
    const auto p = static_cast<double>(shape.stages), m = static_cast<double>(shape.micro_batches);
    EXPECT_NEAR(timing(make_schedule(order, shape)).bubble,
                (p - 1) / (m * static_cast<double>(shape.parts_a_stage) + p - 1), 1e-12)
        << name(order) << " p=" << p << " m=" << m << " v=" << shape.parts_a_stage;
  });
}

TEST(PipelineSchedule, KeepsAsMuchAsItsOrderSays) {
  const PipelineShape shape{4, 7, 1};
  EXPECT_EQ(most_kept(make_schedule(PipelineOrder::gpipe, shape)), (std::vector<int64_t>{7, 7, 7, 7}));
  EXPECT_EQ(most_kept(make_schedule(PipelineOrder::one_f_one_b, shape)), (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(most_kept(make_schedule(PipelineOrder::one_f_one_b, {4, 2, 1})),
            (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(ring_sizes(make_schedule(PipelineOrder::one_f_one_b, shape)), (std::vector<int64_t>{4, 3, 2, 1}));
}

TEST(PipelineSchedule, OneForwardOneBackwardOfTwoStages) {
  const PipelineSchedule made = make_schedule(PipelineOrder::one_f_one_b, {2, 2, 1});
  const std::vector<PipelineStep> first = {
      {forward, 0, 0},           {send_values, 0, 0}, {forward, 0, 1},           {send_values, 0, 1},
      {receive_gradients, 0, 0}, {backward, 0, 0},    {receive_gradients, 0, 1}, {backward, 0, 1}};
  const std::vector<PipelineStep> second = {{receive_values, 1, 0}, {forward, 1, 0},        {backward, 1, 0},
                                            {send_gradients, 1, 0}, {receive_values, 1, 1}, {forward, 1, 1},
                                            {backward, 1, 1},       {send_gradients, 1, 1}};
  EXPECT_EQ(made.stages[0], first);
  EXPECT_EQ(made.stages[1], second);
}

/// Of two stages that each have several parts, values and gradients go the same way.
TEST(PipelineSchedule, TakesMessagesInTheOrderOfTheSender) {
  const PipelineSchedule made = make_schedule(PipelineOrder::interleaved, {2, 4, 2});
  const auto has = [&](PipelineAction action, int64_t part) {
    return std::ranges::any_of(made.stages[1],
                               [&](const PipelineStep& s) { return s.action == action && s.part == part; });
  };
  EXPECT_TRUE(has(receive_values, 1) && has(receive_values, 3) && has(receive_gradients, 1));
  EXPECT_NO_THROW(timing(made));
}

TEST(PipelineSchedule, WorkOnOneStageSendsNothing) {
  const PipelineSchedule made = make_schedule(PipelineOrder::interleaved, {1, 3, 3});
  for (const PipelineStep& step : made.stages[0])
    EXPECT_TRUE(step.action == forward || step.action == backward) << str(step);
}

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PipelineSchedule, NumbersThatMakeNoPipelineAreNamed) {
  EXPECT_EQ(error_of([] { make_schedule(PipelineOrder::gpipe, {0, 1, 1}); }),
            "a pipeline of 0 stages: expected 1 to 65536");
  EXPECT_NE(error_of([] { make_schedule(PipelineOrder::one_f_one_b, {2, 2, 2}); }).find("interleaved"),
            std::string::npos);
  EXPECT_EQ(parse_pipeline_order("1f1b"), PipelineOrder::one_f_one_b);
  EXPECT_EQ(parse_pipeline_order("zigzag"), std::nullopt);
}

// ---- what a simulation finds

struct Fault {
  const char* expected;
  std::function<void(PipelineSchedule&, std::vector<int64_t>&)> break_it;
};

TEST(PipelineSimulation, NamesWhatIsWrong) {
  const auto at = [](PipelineSchedule& s, size_t stage, PipelineStep step) {
    return std::ranges::find(s.stages[stage], step);
  };
  const Fault faults[] = {
      {"stage 0, step 4 (backward of part 0, micro-batch 0): it needs the gradients of part 1, which this "
       "stage has not received before",
       [&](auto& s, auto&) { s.stages[0].erase(at(s, 0, {receive_gradients, 0, 0})); }},
      {"what stage 0 sends next is send_values of part 0, micro-batch 1",
       [&](auto& s, auto&) {
         std::iter_swap(at(s, 0, {forward, 0, 0}), at(s, 0, {forward, 0, 1})),
             std::iter_swap(at(s, 0, {send_values, 0, 0}), at(s, 0, {send_values, 0, 1}));
       }},
      {"its forward was not done before",
       [&](auto& s, auto&) { std::iter_swap(at(s, 1, {forward, 1, 1}), at(s, 1, {backward, 1, 1})); }},
      {"it was not made before, or was sent already",
       [&](auto& s, auto&) { s.stages[0].insert(at(s, 0, {forward, 0, 1}), {send_values, 0, 0}); }},
      {"stage 0 sends send_values of part 0, micro-batch 1, which stage 1 does not receive",
       [&](auto& s, auto&) {
         std::erase_if(s.stages[1], [](const PipelineStep& step) { return step.micro_batch == 1; });
         std::erase(s.stages[0], PipelineStep{receive_gradients, 0, 1});
         std::erase(s.stages[0], PipelineStep{backward, 0, 1});
       }},
      {"it is done a second time",
       [&](auto& s, auto&) { s.stages[0].insert(at(s, 0, {forward, 0, 1}), {forward, 0, 0}); }},
      {"its place in a ring of 1 still has what backward of micro-batch 0 needs",
       [](auto&, auto& rings) { rings[0] = 1; }},
      {"the schedule never ends: stage 0 at step 1 (receive_gradients of part 0, micro-batch 0) for stage 1, "
       "stage 1 at step 0 (receive_values of part 1, micro-batch 0) for stage 0 wait",
       [&](auto& s, auto&) {
         std::iter_swap(at(s, 0, {send_values, 0, 0}), at(s, 0, {receive_gradients, 0, 0}));
       }},
      {"the part is not of this stage", [](auto& s, auto&) { s.stages[0][0].part = 1; }},
      {"there are 2 micro-batches", [](auto& s, auto&) { s.stages[0][0].micro_batch = 2; }},
      {"there is no part -1 at the other end",
       [](auto& s, auto&) { s.stages[0][0].action = receive_values; }},
      {"stage 0 has no backward of part 0, micro-batch 1",
       [&](auto& s, auto&) {
         for (const PipelineStep& step : {PipelineStep{send_gradients, 1, 1}, PipelineStep{backward, 1, 1}})
           std::erase(s.stages[1], step);
         std::erase(s.stages[0], PipelineStep{receive_gradients, 0, 1});
         std::erase(s.stages[0], PipelineStep{backward, 0, 1});
       }},
      {"lists of 1 stages, expected 2", [](auto& s, auto&) { s.stages.pop_back(); }},
      {"the rings are of 1 parts", [](auto&, auto& rings) { rings.pop_back(); }},
  };
  for (const Fault& fault : faults) {
    PipelineSchedule schedule = make_schedule(PipelineOrder::one_f_one_b, {2, 2, 1});
    std::vector<int64_t> rings = ring_sizes(schedule);
    fault.break_it(schedule, rings);
    const std::string found = error_of([&] { simulate(schedule, equal_times(schedule.shape), rings); });
    EXPECT_NE(found.find(fault.expected), std::string::npos)
        << "expected: " << fault.expected << "\nfound: " << found;
  }
}

TEST(PipelineSimulation, UnevenPartsAndMessagesTakeTheirTime) {
  const PipelineSchedule schedule = make_schedule(PipelineOrder::gpipe, {2, 1, 1});
  const PipelineTiming timed = simulate(schedule, {{1, 3}, {2, 6}, 0.5}, ring_sizes(schedule));
  EXPECT_DOUBLE_EQ(timed.total, 1 + 0.5 + 3 + 6 + 0.5 + 2);
  EXPECT_DOUBLE_EQ(timed.bubble, 1 - 12.0 / 26);
  ASSERT_EQ(timed.stages[0].size(), 2u);
  EXPECT_DOUBLE_EQ(timed.stages[0][1].begin, 11);
}

}  // namespace
}  // namespace smelt
