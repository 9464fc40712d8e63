#include "passes/order_steps.h"

#include <algorithm>
#include <set>

#include "passes/lifetimes.h"

namespace smelt {
namespace {

/// For every step the steps that must come after it: those that read or overwrite what it touches.
struct Dependences {
  std::vector<std::vector<int>> after;
  std::vector<int> waiting_for;  // how many steps come before
};

Dependences dependences(const std::vector<Step>& steps, size_t buffers) {
  const size_t count = steps.size();
  std::vector<std::set<int>> before(count);
  std::vector<int> writer(buffers, -1);
  std::vector<std::vector<int>> readers(buffers);
  for (size_t i = 0; i < count; ++i) {
    const int step = static_cast<int>(i);
    for (int buffer : steps[i].reads) {
      if (writer[buffer] >= 0) before[i].insert(writer[buffer]);
      readers[buffer].push_back(step);
    }
    for (int buffer : steps[i].writes) {
      if (writer[buffer] >= 0) before[i].insert(writer[buffer]);
      before[i].insert(readers[buffer].begin(), readers[buffer].end());
      readers[buffer].clear();
      writer[buffer] = step;
    }
    before[i].erase(step);
  }
  Dependences result{std::vector<std::vector<int>>(count), std::vector<int>(count)};
  for (size_t i = 0; i < count; ++i) {
    result.waiting_for[i] = static_cast<int>(before[i].size());
    for (int other : before[i]) result.after[other].push_back(static_cast<int>(i));
  }
  return result;
}

class Scheduler {
 public:
  Scheduler(const Program& program, const std::vector<Step>& steps)
      : program_(program), steps_(steps), dependences_(dependences(steps, program.buffers.size())) {
    for (const Step& step : steps)
      for (int buffer : touched(step)) ++uses_left_[buffer];
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

  int pick() const {
    for (int step : ready_)
      if (growth(step) <= 0) return step;
    return *ready_.begin();
  }

  const Program& program_;
  const std::vector<Step>& steps_;
  Dependences dependences_;
  std::map<int, int> uses_left_;
  std::set<int> live_, ready_;
};

}  // namespace

bool order_steps(Program& program, const OrderStepsOptions&) {
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
