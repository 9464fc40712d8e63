#include "runtime/engine/training/pipeline_schedule.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::array kOrderNames = {"gpipe", "1f1b", "interleaved"};
constexpr std::array kActionNames = {"forward",        "backward",       "send_values",
                                     "receive_values", "send_gradients", "receive_gradients"};

using Steps = std::vector<PipelineStep>;

void check_shape(PipelineOrder order, const PipelineShape& shape) {
  constexpr int64_t kMost = int64_t{1} << 16;
  const std::pair<const char*, int64_t> numbers[] = {{"stages", shape.stages},
                                                     {"micro-batches", shape.micro_batches},
                                                     {"parts a stage", shape.parts_a_stage}};
  for (const auto& [what, number] : numbers)
    if (number < 1 || number > kMost) fail("a pipeline of {} {}: expected 1 to {}", number, what, kMost);
  if (order == PipelineOrder::one_f_one_b && shape.parts_a_stage > 1)
    fail("{} parts a stage in the order 1f1b, which has one: the order interleaved has any number",
         shape.parts_a_stage);
}

// ---- the work of a stage

/// Micro-batches that go through all parts of a stage before the next ones begin: about as many as stages, so
/// that one is at every stage, and of sizes that differ by one at most.
std::vector<int64_t> group_sizes(const PipelineShape& shape) {
  const int64_t groups = std::max<int64_t>(1, shape.micro_batches / shape.stages);
  std::vector<int64_t> sizes(static_cast<size_t>(groups), shape.micro_batches / groups);
  for (int64_t i = 0; i < shape.micro_batches % groups; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

/// All of one direction, group by group: of each its micro-batches part by part.
Steps grouped(const PipelineShape& shape, int64_t stage, PipelineAction action,
              const std::vector<int64_t>& sizes) {
  Steps steps;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    for (int64_t i = 0; i < shape.parts_a_stage; ++i) {
      const int64_t place = action == PipelineAction::forward ? i : shape.parts_a_stage - 1 - i;
      for (int64_t micro = first; micro < first + size; ++micro)
        steps.push_back({action, place * shape.stages + stage, micro});
    }
    first += size;
  }
  return steps;
}

Steps gpipe_work(const PipelineShape& shape, int64_t stage) {
  const std::vector<int64_t> all = {shape.micro_batches};
  Steps steps = grouped(shape, stage, PipelineAction::forward, all);
  const Steps back = grouped(shape, stage, PipelineAction::backward, all);
  steps.insert(steps.end(), back.begin(), back.end());
  return steps;
}

/// Returns the number of forwards before the first backward: one for each later stage, because the first
/// backward waits for their gradients; twice as many, after those of the stage's other parts, if the stage
/// has several parts.
int64_t forwards_ahead(const PipelineShape& shape, int64_t stage, int64_t group) {
  const int64_t behind = shape.stages - 1 - stage;
  return shape.parts_a_stage == 1 ? behind : (shape.parts_a_stage - 1) * group + 2 * behind;
}

Steps alternating_work(const PipelineShape& shape, int64_t stage) {
  const std::vector<int64_t> sizes = group_sizes(shape);
  const Steps forward = grouped(shape, stage, PipelineAction::forward, sizes);
  const Steps backward = grouped(shape, stage, PipelineAction::backward, sizes);
  const auto ahead =
      std::min(forward.size(), static_cast<size_t>(forwards_ahead(shape, stage, sizes.front())));
  Steps steps(forward.begin(), forward.begin() + static_cast<ptrdiff_t>(ahead));
  for (size_t i = 0; i < backward.size(); ++i) {
    if (ahead + i < forward.size()) steps.push_back(forward[ahead + i]);
    steps.push_back(backward[i]);
  }
  return steps;
}

// ---- messages

/// Returns the message that the work begins with, or ends with; nothing if the other part is on the same
/// stage.
std::optional<PipelineStep> message_of(const PipelineStep& work, bool sends, const PipelineShape& shape) {
  const bool forward = work.action == PipelineAction::forward;
  const PipelineStep message = {
      forward ? (sends ? PipelineAction::send_values : PipelineAction::receive_values)
              : (sends ? PipelineAction::send_gradients : PipelineAction::receive_gradients),
      work.part, work.micro_batch};
  const int64_t other = other_part(message);
  if (other < 0 || other >= shape.parts() || shape.stage_of(other) == shape.stage_of(work.part)) return {};
  return message;
}

PipelineStep receipt_of(const PipelineStep& sent) {
  const bool values = sent.action == PipelineAction::send_values;
  return {values ? PipelineAction::receive_values : PipelineAction::receive_gradients, other_part(sent),
          sent.micro_batch};
}

/// Messages that each stage receives, by sender and receiver, in the order of the sender's work.
using Mail = std::map<std::pair<int64_t, int64_t>, std::deque<PipelineStep>>;  // (from, to)
Mail mail_of(const std::vector<Steps>& work, const PipelineShape& shape) {
  Mail mail;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (const PipelineStep& step : work[static_cast<size_t>(stage)])
      if (const auto sent = message_of(step, true, shape))
        mail[{stage, shape.stage_of(other_part(*sent))}].push_back(receipt_of(*sent));
  return mail;
}

/// Adds messages to the work. With several parts per stage, work may need messages in another order than they
/// were sent in; the messages before a needed one are then taken with it.
Steps with_messages(const Steps& work, int64_t stage, const PipelineShape& shape, Mail& mail) {
  Steps steps;
  for (const PipelineStep& step : work) {
    if (const auto needed = message_of(step, false, shape)) {
      auto& sent = mail[{shape.stage_of(other_part(*needed)), stage}];
      while (std::ranges::find(sent, *needed) != sent.end()) {
        steps.push_back(sent.front());
        sent.pop_front();
      }
    }
    steps.push_back(step);
    if (const auto sent = message_of(step, true, shape)) steps.push_back(*sent);
  }
  return steps;
}

/// Calls `see` with the number of micro-batches that a part keeps after each of its steps.
template <typename See>
void follow_kept(const PipelineSchedule& schedule, See see) {
  for (const Steps& steps : schedule.stages) {
    std::map<int64_t, std::set<int64_t>> kept;
    for (const PipelineStep& step : steps) {
      if (step.action == PipelineAction::forward) kept[step.part].insert(step.micro_batch);
      if (step.action == PipelineAction::forward) see(step.part, kept[step.part]);
      if (step.action == PipelineAction::backward) kept[step.part].erase(step.micro_batch);
    }
  }
}

bool have_places(const std::set<int64_t>& kept, int64_t size) {
  std::set<int64_t> places;
  return std::ranges::all_of(kept, [&](int64_t micro) { return places.insert(micro % size).second; });
}

}  // namespace

std::string_view name(PipelineOrder order) { return kOrderNames[static_cast<size_t>(order)]; }

std::optional<PipelineOrder> parse_pipeline_order(std::string_view name) {
  const auto found = std::ranges::find(kOrderNames, name);
  if (found == kOrderNames.end()) return std::nullopt;
  return static_cast<PipelineOrder>(found - kOrderNames.begin());
}

std::string_view name(PipelineAction action) { return kActionNames[static_cast<size_t>(action)]; }

std::string str(const PipelineStep& step) {
  return fmt::format("{} of part {}, micro-batch {}", name(step.action), step.part, step.micro_batch);
}

int64_t other_part(const PipelineStep& message) {
  const bool next =
      message.action == PipelineAction::send_values || message.action == PipelineAction::receive_gradients;
  return message.part + (next ? 1 : -1);
}

PipelineSchedule make_schedule(PipelineOrder order, const PipelineShape& shape) {
  check_shape(order, shape);
  std::vector<Steps> work;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    work.push_back(order == PipelineOrder::gpipe ? gpipe_work(shape, stage) : alternating_work(shape, stage));
  Mail mail = mail_of(work, shape);
  PipelineSchedule schedule{shape, {}};
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    schedule.stages.push_back(with_messages(work[static_cast<size_t>(stage)], stage, shape, mail));
  return schedule;
}

std::vector<int64_t> most_kept(const PipelineSchedule& schedule) {
  std::vector<int64_t> most(static_cast<size_t>(schedule.shape.parts()));
  follow_kept(schedule, [&](int64_t part, const std::set<int64_t>& kept) {
    int64_t& count = most[static_cast<size_t>(part)];
    count = std::max<int64_t>(count, std::ssize(kept));
  });
  return most;
}

std::vector<int64_t> ring_sizes(const PipelineSchedule& schedule) {
  std::vector<int64_t> sizes = most_kept(schedule);
  follow_kept(schedule, [&](int64_t part, const std::set<int64_t>& kept) {
    int64_t& size = sizes[static_cast<size_t>(part)];
    while (!have_places(kept, size)) ++size;
  });
  return sizes;
}

}  // namespace smelt
