#include "passes/sharding/overlap_collectives.h"

#include <algorithm>

#include "passes/sharding/step_units.h"

namespace smelt {
namespace {

class Overlap {
 public:
  Overlap(const Program& program, PlanEntry& entry) : entry_(entry), units_(take_units(program, entry)) {}

  void run() {
    for (size_t i = 0; i < units_.size(); ++i)
      if (units_[i].collective()) move(i, earliest(i));
    note_waits();
    put_back(std::move(units_), entry_);
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

  /// Of one that puts parts together: where what the last one before it that is needed earlier made is first
  /// read. Those that one step needs begin together.
  size_t earliest_gather(size_t index) {
    const size_t needed_at = needed(index);
    for (size_t before = index; before-- > 0;)
      if (CollectiveStep* other = units_[before].collective(); other && other->writes_parts())
        if (const size_t first_read = needed(before); first_read < needed_at)
          return std::min(index, first_read);
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
    for (const StepUnit& unit : units_) {
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
  std::vector<StepUnit> units_;
};

}  // namespace

bool overlap_collectives(Program& program, const OverlapCollectivesOptions&) {
  bool changed = false;
  for (PlanEntry& entry : program.entries)
    if (has_collectives(entry)) Overlap(program, entry).run(), changed = true;
  return changed;
}

}  // namespace smelt
