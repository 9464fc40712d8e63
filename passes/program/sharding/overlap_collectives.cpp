#include "passes/program/sharding/overlap_collectives.h"

#include <algorithm>
#include <utility>

#include "passes/program/memory/lifetimes.h"
#include "passes/program/sharding/step_units.h"

namespace smelt {
namespace {

/// At most 1 / kShare of all gathered bytes is ahead of its readers; a group has 1 / kShare of all operands
/// of sums.
constexpr int64_t kShare = 16;

class Overlap {
 public:
  Overlap(const Program& program, PlanEntry& entry, const OverlapCollectivesOptions& options)
      : program_(program), entry_(entry), options_(options), units_(take_units(program, entry)) {}

  void run() {
    limit();
    for (size_t i = 0; i < units_.size(); ++i)
      if (units_[i].collective()) move(i, earliest(i));
    note_waits();
    put_back(std::move(units_), entry_);
  }

 private:
  /// Returns the earliest position: after the last unit that it depends on, and after collectives that are
  /// there already.
  size_t earliest(size_t index) {
    size_t to = index;
    while (to > 0 && !conflict(units_[to - 1].touches, units_[index].touches)) --to;
    to = std::max(to, units_[index].collective()->writes_parts() ? earliest_gather(index) : 0);
    while (to < index && units_[to].collective()) ++to;
    return to;
  }

  /// Returns the earliest position of a gather: the first reader of an earlier gather's result for an earlier
  /// step, at which the bytes ahead of their readers exceed the limit. Gathers for one step begin together.
  size_t earliest_gather(size_t index) {
    const size_t needed_at = needed(index);
    int64_t ahead = 0;
    for (size_t before = index; before-- > 0;) {
      const CollectiveStep* other = units_[before].collective();
      if (!other || !other->writes_parts()) continue;
      const size_t first_read = needed(before);
      if (first_read >= needed_at) continue;
      ahead += bytes(*other, other->to_elements());
      if (ahead > ahead_) return std::min(index, first_read);
    }
    return 0;
  }

  void limit() {
    int64_t together = 0, taken = 0;
    for (StepUnit& unit : units_) {
      const CollectiveStep* step = unit.collective();
      if (step && step->writes_parts()) together += bytes(*step, step->to_elements());
      taken += bytes_taken(unit);
    }
    ahead_ = std::min(options_.bytes_ahead, together / kShare);
    group_ = std::min(options_.bytes_taken, taken / kShare);
  }

  /// At the bounds.
  int64_t bytes(const CollectiveStep& step, const Dim& elements) const {
    return bytes_at_bounds(program_.symbols, step.rows * elements, step.dtype);
  }

  void move(size_t from, size_t to) {
    const auto begin = units_.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(to), begin + static_cast<std::ptrdiff_t>(from),
                begin + static_cast<std::ptrdiff_t>(from) + 1);
  }

  /// Returns the first later unit that must wait for it.
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
    const std::vector<size_t> freed = frees();
    for (size_t i = 0; i < units_.size(); ++i)
      if (CollectiveStep* collective = units_[i].collective()) {
        const size_t until = std::min(needed(i), freed[i]);
        collective->waited_at = until == i + 1 ? -1 : first_steps[until];
      }
  }

  /// Returns per unit the latest position of its wait at which its operand's memory is freed: for collectives
  /// that take parts from temporary memory, in groups of equal bytes, the begin of the group after the next
  /// one.
  std::vector<size_t> frees() {
    std::vector<size_t> result(units_.size(), units_.size()), group, group_before;
    int64_t bytes = 0;
    for (size_t i = 0; i < units_.size(); ++i) {
      const int64_t own = bytes_taken(units_[i]);
      if (own == 0) continue;
      if (bytes >= group_) {
        for (const size_t before : group_before) result[before] = i;
        group_before = std::exchange(group, {}), bytes = 0;
      }
      group.push_back(i), bytes += own;
    }
    return result;
  }

  /// 0 where that frees no memory of the arena.
  int64_t bytes_taken(StepUnit& unit) const {
    const CollectiveStep* step = unit.collective();
    const bool frees = step && step->kind == CollectiveKind::reduce_scatter &&
                       in_arena(program_.buffers[static_cast<size_t>(step->from.buffer)]);
    return frees ? bytes(*step, step->from_elements()) : 0;
  }

  const Program& program_;
  PlanEntry& entry_;
  const OverlapCollectivesOptions& options_;
  std::vector<StepUnit> units_;
  int64_t ahead_ = 0, group_ = 0;  // bytes, of what is put together before it is read and of operands of sums
};

}  // namespace

bool overlap_collectives(Program& program, const OverlapCollectivesOptions& options) {
  bool changed = false;
  for (PlanEntry& entry : program.entries)
    if (has_collectives(entry)) Overlap(program, entry, options).run(), changed = true;
  return changed;
}

}  // namespace smelt
