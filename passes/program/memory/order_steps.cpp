#include "passes/program/memory/memory_passes.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/program/memory/lifetimes.h"
#include "passes/program/memory/step_dependences.h"
#include "runtime/plan/choices.h"

namespace smelt {
namespace {

/// Steps that stay together: those of a choice, or one.
std::vector<StepSpan> units_of(const std::vector<Step>& steps) {
  std::vector<StepSpan> units;
  for (size_t next = 0; next < steps.size(); next = units.back().end)
    units.push_back(together_with(steps, next));
  return units;
}

std::vector<Footprint> footprints(const Program& program, const std::vector<Step>& steps,
                                  const std::vector<StepSpan>& units) {
  std::vector<Footprint> all;
  for (const StepSpan& unit : units) {
    Footprint& touches = all.emplace_back();
    for (size_t i = unit.begin; i < unit.end; ++i)
      for (const Touch& touch : footprint(program, steps[i])) touches.push_back(touch);
  }
  return all;
}

constexpr int64_t kLittle = 1000;  // fraction of the largest buffer: 1 / kLittle

class Scheduler {
 public:
  Scheduler(const Program& program, const std::vector<Step>& steps)
      : program_(program),
        steps_(steps),
        units_(units_of(steps)),
        dependences_(step_dependences(footprints(program, steps, units_))) {
    for (size_t i = 0; i < units_.size(); ++i)
      for (int buffer : touched(static_cast<int>(i))) {
        ++uses_left_[buffer];
        largest_ = std::max(largest_, bytes_at_bounds(program_, program_.buffers[buffer]));
      }
    for (size_t i = 0; i < units_.size(); ++i)
      if (dependences_.waiting_for[i] == 0) ready_.insert(static_cast<int>(i));
  }

  std::vector<int> run() {
    std::vector<int> order;
    while (!ready_.empty()) {
      const int unit = pick();
      ready_.erase(unit);
      const StepSpan& steps = units_[static_cast<size_t>(unit)];
      for (size_t i = steps.begin; i < steps.end; ++i) order.push_back(static_cast<int>(i));
      for (int buffer : touched(unit)) {
        live_.insert(buffer);
        if (--uses_left_[buffer] == 0) live_.erase(buffer);
      }
      for (int next : dependences_.after[unit])
        if (--dependences_.waiting_for[next] == 0) ready_.insert(next);
    }
    return order;
  }

 private:
  std::set<int> touched(int unit) const {
    std::set<int> buffers;
    const StepSpan& steps = units_[static_cast<size_t>(unit)];
    for (size_t i = steps.begin; i < steps.end; ++i)
      for (const auto* list : {&steps_[i].reads, &steps_[i].writes})
        for (int buffer : *list)
          if (in_arena(program_.buffers[buffer])) buffers.insert(buffer);
    return buffers;
  }

  int64_t growth(int unit) const {
    int64_t bytes = 0;
    for (int buffer : touched(unit)) {
      const int64_t size = bytes_at_bounds(program_, program_.buffers[buffer]);
      if (!live_.count(buffer)) bytes += size;
      if (uses_left_.at(buffer) == 1) bytes -= size;
    }
    return bytes;
  }

  /// Steps that hold next to nothing stay where they stood, side by side with their like (merge_launches).
  int pick() const {
    for (int unit : ready_)
      if (holds_much(unit) && growth(unit) <= 0) return unit;
    return *ready_.begin();
  }

  bool holds_much(int unit) const {
    return std::ranges::any_of(touched(unit), [&](int buffer) {
      return bytes_at_bounds(program_, program_.buffers[buffer]) > largest_ / kLittle;
    });
  }

  const Program& program_;
  const std::vector<Step>& steps_;
  const std::vector<StepSpan> units_;
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
