#include "passes/memory/order_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/memory/lifetimes.h"
#include "passes/memory/step_dependences.h"

namespace smelt {
namespace {

std::vector<Footprint> footprints(const Program& program, const std::vector<Step>& steps) {
  std::vector<Footprint> all;
  for (const Step& step : steps) all.push_back(footprint(program, step));
  return all;
}

constexpr int64_t kLittle = 1000;  // of the largest buffer one in so many

class Scheduler {
 public:
  Scheduler(const Program& program, const std::vector<Step>& steps)
      : program_(program), steps_(steps), dependences_(step_dependences(footprints(program, steps))) {
    for (const Step& step : steps)
      for (int buffer : touched(step)) {
        ++uses_left_[buffer];
        largest_ = std::max(largest_, bytes_at_bounds(program_, program_.buffers[buffer]));
      }
    for (size_t i = 0; i < steps.size(); ++i)
      if (dependences_.waiting_for[i] == 0) ready_.insert(static_cast<int>(i));
  }

  std::vector<int> run() {
    std::vector<int> order;
    while (!ready_.empty()) {
      const int step = pick();
      ready_.erase(step);
      order.push_back(step);
      for (int buffer : touched(steps_[step])) {
        live_.insert(buffer);
        if (--uses_left_[buffer] == 0) live_.erase(buffer);
      }
      for (int next : dependences_.after[step])
        if (--dependences_.waiting_for[next] == 0) ready_.insert(next);
    }
    return order;
  }

 private:
  std::set<int> touched(const Step& step) const {
    std::set<int> buffers;
    for (const auto* list : {&step.reads, &step.writes})
      for (int buffer : *list)
        if (in_arena(program_.buffers[buffer])) buffers.insert(buffer);
    return buffers;
  }

  int64_t growth(int step) const {
    int64_t bytes = 0;
    for (int buffer : touched(steps_[step])) {
      const int64_t size = bytes_at_bounds(program_, program_.buffers[buffer]);
      if (!live_.count(buffer)) bytes += size;
      if (uses_left_.at(buffer) == 1) bytes -= size;
    }
    return bytes;
  }

  /// Steps that hold next to nothing stay where they stood, side by side with their like (merge_launches).
  int pick() const {
    for (int step : ready_)
      if (holds_much(step) && growth(step) <= 0) return step;
    return *ready_.begin();
  }

  bool holds_much(int step) const {
    return std::ranges::any_of(touched(steps_[step]), [&](int buffer) {
      return bytes_at_bounds(program_, program_.buffers[buffer]) > largest_ / kLittle;
    });
  }

  const Program& program_;
  const std::vector<Step>& steps_;
  StepDependences dependences_;
  int64_t largest_ = 0;  // bytes of a buffer
  std::map<int, int> uses_left_;
  std::set<int> live_, ready_;
};

}  // namespace

bool order_steps(Program& program, const OrderStepsOptions&) {
  check_sizes(program);
  bool changed = false;
  for (PlanEntry& entry : program.entries) {
    const std::vector<int> order = Scheduler(program, entry.steps).run();
    if (std::is_sorted(order.begin(), order.end())) continue;
    std::vector<Step> steps;
    for (int step : order) steps.push_back(entry.steps[step]);
    const auto peak = [&](const std::vector<Step>& s) {
      return peak_live_bytes(lifetimes(program, s), s.size());
    };
    if (peak(steps) > peak(entry.steps)) continue;
    entry.steps = std::move(steps);
    changed = true;
  }
  return changed;
}

}  // namespace smelt
