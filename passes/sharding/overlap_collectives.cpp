#include "passes/sharding/overlap_collectives.h"

#include <algorithm>
#include <variant>

#include "ir/analysis/step_footprint.h"
#include "runtime/plan/choices.h"

namespace smelt {
namespace {

/// Steps that stay together, with what they touch.
struct Unit {
  std::vector<Step> steps;
  Footprint touches;

  CollectiveStep* collective() { return std::get_if<CollectiveStep>(&steps.front().what); }
};

/// What ranks see of one another keeps its order, as one order of all ranks' steps does that by itself.
void add_memory(const Footprint& touches, Footprint& to) {
  std::ranges::copy_if(touches, std::back_inserter(to), [](const Touch& t) { return t.memory != -1; });
}

class Overlap {
 public:
  Overlap(const Program& program, PlanEntry& entry) : entry_(entry) {
    for (size_t next = 0; next < entry.steps.size();) {
      const StepSpan span = together_with(entry.steps, next);
      Unit& unit = units_.emplace_back();
      for (; next < span.end; ++next) {
        add_memory(footprint(program, entry.steps[next]), unit.touches);
        unit.steps.push_back(entry.steps[next]);
      }
    }
  }

  void run() {
    for (size_t i = 0; i < units_.size(); ++i)
      if (units_[i].collective()) move(i, earliest(i));
    note_waits();
    entry_.steps.clear();
    for (const Unit& unit : units_)
      entry_.steps.insert(entry_.steps.end(), unit.steps.begin(), unit.steps.end());
  }

 private:
  /// Behind the last unit that it depends on, and behind collectives that stand there already.
  size_t earliest(size_t index) {
    size_t to = index;
    while (to > 0 && !conflict(units_[to - 1].touches, units_[index].touches)) --to;
    to = std::max(to, units_[index].collective()->writes_parts() ? earliest_gather(index) : 0);
    while (to < index && units_[to].collective()) ++to;
    return to;
  }

  /// Of one that puts parts together: where what the one before it made is first read.
  size_t earliest_gather(size_t index) {
    for (size_t before = index; before-- > 0;)
      if (CollectiveStep* other = units_[before].collective(); other && other->writes_parts())
        return std::min(index, needed(before));
    return 0;
  }

  void move(size_t from, size_t to) {
    const auto begin = units_.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(to), begin + static_cast<std::ptrdiff_t>(from),
                begin + static_cast<std::ptrdiff_t>(from) + 1);
  }

  /// The first unit behind it that has to wait for it.
  size_t needed(size_t index) const {
    size_t next = index + 1;
    while (next < units_.size() && !conflict(units_[index].touches, units_[next].touches)) ++next;
    return next;
  }

  void note_waits() {
    std::vector<int> first_steps;
    int steps = 0;
    for (const Unit& unit : units_) {
      first_steps.push_back(steps);
      steps += static_cast<int>(unit.steps.size());
    }
    first_steps.push_back(steps);
    for (size_t i = 0; i < units_.size(); ++i)
      if (CollectiveStep* collective = units_[i].collective()) {
        const size_t until = needed(i);
        collective->waited_at = until == i + 1 ? -1 : first_steps[until];
      }
  }

  PlanEntry& entry_;
  std::vector<Unit> units_;
};

bool has_collectives(const PlanEntry& entry) {
  return std::ranges::any_of(
      entry.steps, [](const Step& step) { return std::holds_alternative<CollectiveStep>(step.what); });
}

}  // namespace

bool overlap_collectives(Program& program, const OverlapCollectivesOptions&) {
  bool changed = false;
  for (PlanEntry& entry : program.entries)
    if (has_collectives(entry)) Overlap(program, entry).run(), changed = true;
  return changed;
}

}  // namespace smelt
