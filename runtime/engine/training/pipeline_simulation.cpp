#include "runtime/engine/training/pipeline_simulation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {
namespace {

using MicroPart = std::pair<int64_t, int64_t>;  // part, micro-batch

bool is_work(PipelineAction action) {
  return action == PipelineAction::forward || action == PipelineAction::backward;
}
bool is_send(PipelineAction action) {
  return action == PipelineAction::send_values || action == PipelineAction::send_gradients;
}
bool carries_values(PipelineAction action) {
  return action == PipelineAction::send_values || action == PipelineAction::receive_values;
}

/// Identity of a message for both ends: its direction, the part that needs it and the micro-batch.
using Message = std::tuple<bool, int64_t, int64_t>;
Message key_of(const PipelineStep& step) {
  const int64_t reader = is_send(step.action) ? other_part(step) : step.part;
  return {carries_values(step.action), reader, step.micro_batch};
}

[[noreturn]] void fail_at(int64_t stage, size_t index, const PipelineStep& step, const std::string& why) {
  fail("the schedule's stage {}, step {} ({}): {}", stage, index, str(step), why);
}

class Simulation {
 public:
  Simulation(const PipelineSchedule& schedule, const PipelineTimes& times, const std::vector<int64_t>& rings)
      : schedule_(schedule), shape_(schedule.shape), times_(times), rings_(rings) {}

  PipelineTiming run() {
    check_sizes();
    stages_.resize(schedule_.stages.size());
    timing_.stages.resize(schedule_.stages.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t stage = 0; stage < shape_.stages; ++stage)
        while (advance(stage)) moved = true;
    }
    check_end();
    sum_up();
    return std::move(timing_);
  }

 private:
  struct Stage {
    size_t next = 0;
    double now = 0;
    std::map<Message, double> received;                 // when it came
    std::map<MicroPart, double> forward;                // when it ended
    std::set<MicroPart> backward;                       // that are done
    std::map<MicroPart, std::optional<int64_t>> rings;  // (part, place): the micro-batch in it
    std::map<Message, double> made;                     // results of own work, for sends and for own parts
  };

  void check_sizes() const {
    const auto parts = static_cast<size_t>(shape_.parts());
    if (std::ssize(schedule_.stages) != shape_.stages)
      fail("the schedule has lists of {} stages, expected {}", schedule_.stages.size(), shape_.stages);
    if (times_.forward.size() != parts || times_.backward.size() != parts)
      fail("the times are of {} parts forward and {} backward, expected {}", times_.forward.size(),
           times_.backward.size(), parts);
    const bool is_empty = std::ranges::any_of(rings_, [](int64_t size) { return size < 1; });
    if (rings_.size() != parts || is_empty)
      fail("the rings are of {} parts, expected {} of at least one place each", rings_.size(), parts);
  }

  const std::vector<PipelineStep>& steps(int64_t stage) const {
    return schedule_.stages[static_cast<size_t>(stage)];
  }
  Stage& at(int64_t stage) { return stages_[static_cast<size_t>(stage)]; }

  /// Returns whether the stage could do its next step.
  bool advance(int64_t stage) {
    Stage& s = at(stage);
    if (s.next == steps(stage).size()) return false;
    const PipelineStep& step = steps(stage)[s.next];
    check_place(stage, step);
    if (is_work(step.action))
      work(stage, step);
    else if (is_send(step.action))
      send(stage, step);
    else if (!receive(stage, step))
      return false;
    ++s.next;
    return true;
  }

  [[noreturn]] void fault(int64_t stage, const PipelineStep& step, const std::string& why) {
    fail_at(stage, at(stage).next, step, why);
  }

  void check_place(int64_t stage, const PipelineStep& step) {
    if (step.part < 0 || step.part >= shape_.parts() || shape_.stage_of(step.part) != stage)
      fault(stage, step, fmt::format("the part is not of this stage, of {} stages", shape_.stages));
    if (step.micro_batch < 0 || step.micro_batch >= shape_.micro_batches)
      fault(stage, step, fmt::format("there are {} micro-batches", shape_.micro_batches));
    if (is_work(step.action)) return;
    const int64_t other = other_part(step);
    if (other < 0 || other >= shape_.parts())
      fault(stage, step, fmt::format("there is no part {} at the other end", other));
    if (shape_.stage_of(other) == stage) fault(stage, step, "the other end is this stage");
  }

  /// Returns the time at which the work's input from another part is available.
  double input_time(int64_t stage, const PipelineStep& step) {
    const bool forward = step.action == PipelineAction::forward;
    const int64_t other = step.part + (forward ? -1 : 1);
    if (other < 0 || other >= shape_.parts()) return 0;
    const bool own = shape_.stage_of(other) == stage;
    auto& known = own ? at(stage).made : at(stage).received;
    const auto found = known.find({forward, step.part, step.micro_batch});
    if (found == known.end())
      fault(stage, step,
            fmt::format("it needs the {} of part {}, which this stage has not {} before",
                        forward ? "values" : "gradients", other, own ? "made" : "received"));
    const double when = found->second;
    known.erase(found);
    return when;
  }

  void work(int64_t stage, const PipelineStep& step) {
    Stage& s = at(stage);
    const bool forward = step.action == PipelineAction::forward;
    const MicroPart place{step.part, step.micro_batch};
    if (forward ? s.forward.contains(place) : s.backward.contains(place))
      fault(stage, step, "it is done a second time");
    double begin = std::max(s.now, input_time(stage, step));
    if (forward)
      take_ring(stage, step);
    else
      begin = std::max(begin, leave_ring(stage, step));
    const auto part = static_cast<size_t>(step.part);
    s.now = begin + (forward ? times_.forward[part] : times_.backward[part]);
    if (forward)
      s.forward[place] = s.now;
    else
      s.backward.insert(place);
    s.made[{forward, step.part + (forward ? 1 : -1), step.micro_batch}] = s.now;
    timing_.stages[static_cast<size_t>(stage)].push_back({step, begin, s.now});
  }

  std::optional<int64_t>& ring_place(int64_t stage, const PipelineStep& step) {
    return at(stage).rings[{step.part, step.micro_batch % rings_[static_cast<size_t>(step.part)]}];
  }

  void take_ring(int64_t stage, const PipelineStep& step) {
    std::optional<int64_t>& place = ring_place(stage, step);
    if (place)
      fault(stage, step,
            fmt::format("its place in a ring of {} still has what backward of micro-batch {} needs",
                        rings_[static_cast<size_t>(step.part)], *place));
    place = step.micro_batch;
  }

  double leave_ring(int64_t stage, const PipelineStep& step) {
    const auto done = at(stage).forward.find({step.part, step.micro_batch});
    if (done == at(stage).forward.end()) fault(stage, step, "its forward was not done before");
    ring_place(stage, step).reset();
    return done->second;
  }

  void send(int64_t stage, const PipelineStep& step) {
    Stage& s = at(stage);
    const auto made = s.made.find(key_of(step));
    if (made == s.made.end()) fault(stage, step, "it was not made before, or was sent already");
    mail_[{stage, shape_.stage_of(other_part(step))}].emplace_back(step, made->second + times_.message);
    s.made.erase(made);
  }

  bool receive(int64_t stage, const PipelineStep& step) {
    const int64_t from = shape_.stage_of(other_part(step));
    auto& sent = mail_[{from, stage}];
    if (sent.empty()) return false;
    const auto [message, when] = sent.front();
    if (key_of(message) != key_of(step))
      fault(stage, step, fmt::format("what stage {} sends next is {}", from, str(message)));
    sent.pop_front();
    at(stage).received[key_of(step)] = when;
    return true;
  }

  // ---- the end

  void check_end() {
    std::string waiting;
    for (int64_t stage = 0; stage < shape_.stages; ++stage) {
      const size_t next = at(stage).next;
      if (next == steps(stage).size()) continue;
      const PipelineStep& step = steps(stage)[next];
      waiting += fmt::format("{}stage {} at step {} ({}) for stage {}", waiting.empty() ? "" : ", ", stage,
                             next, str(step), shape_.stage_of(other_part(step)));
    }
    if (!waiting.empty()) fail("the schedule never ends: {} wait for messages that never come", waiting);
    for (const auto& [ends, left] : mail_)
      if (!left.empty())
        fail("stage {} sends {}, which stage {} does not receive", ends.first, str(left.front().first),
             ends.second);
    for (int64_t part = 0; part < shape_.parts(); ++part) check_done(part);
  }

  void check_done(int64_t part) {
    const Stage& s = at(shape_.stage_of(part));
    for (int64_t micro = 0; micro < shape_.micro_batches; ++micro)
      for (const bool forward : {true, false})
        if (!(forward ? s.forward.contains({part, micro}) : s.backward.contains({part, micro})))
          fail("the schedule's stage {} has no {} of part {}, micro-batch {}", shape_.stage_of(part),
               forward ? "forward" : "backward", part, micro);
  }

  void sum_up() {
    double busy = 0;
    for (const auto& spans : timing_.stages)
      for (const PipelineSpan& span : spans) {
        busy += span.end - span.begin;
        timing_.total = std::max(timing_.total, span.end);
      }
    const double all = timing_.total * static_cast<double>(shape_.stages);
    timing_.bubble = all > 0 ? 1 - busy / all : 0;
  }

  const PipelineSchedule& schedule_;
  const PipelineShape& shape_;
  const PipelineTimes& times_;
  const std::vector<int64_t>& rings_;
  std::vector<Stage> stages_;
  std::map<std::pair<int64_t, int64_t>, std::deque<std::pair<PipelineStep, double>>> mail_;  // (from, to)
  PipelineTiming timing_;
};

}  // namespace

PipelineTimes equal_times(const PipelineShape& shape) {
  const std::vector<double> ones(static_cast<size_t>(shape.parts()), 1.0);
  return {ones, ones, 0};
}

PipelineTiming simulate(const PipelineSchedule& schedule, const PipelineTimes& times,
                        const std::vector<int64_t>& rings) {
  return Simulation(schedule, times, rings).run();
}

}  // namespace smelt
