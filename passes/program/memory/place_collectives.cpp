#include "passes/program/memory/memory_passes.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "ir/analysis/step_footprint.h"
#include "passes/program/memory/lifetimes.h"
#include "runtime/plan/choices.h"

namespace smelt {
namespace {

const CollectiveStep* collective(const Step& step, CollectiveKind kind) {
  const auto* what = std::get_if<CollectiveStep>(&step.what);
  return what && what->kind == kind && step.choice < 0 ? what : nullptr;
}

class Placement {
 public:
  Placement(Program& program, PlanEntry& entry) : program_(program), steps_(entry.steps) {
    for (const Step& step : steps_) {
      touches_.push_back(footprint(program, step));
      // The order of collectives need not be kept here, because ranks have one list of steps.
      std::erase_if(touches_.back(), [](const Touch& touch) { return touch.memory == -1; });
      if (const auto* scatter = collective(step, CollectiveKind::reduce_scatter))
        if (is_in_arena(scatter->from)) scattered_.insert(scatter->from.buffer);
    }
  }

  bool run() {
    for (size_t i = steps_.size(); i-- > 0;)
      if (goes_late(steps_[i])) move_late(i);
    for (size_t i = 0; i < steps_.size(); ++i)
      if (goes_early(steps_[i])) move_early(i);
    return changed_;
  }

 private:
  bool is_in_arena(const BufferRef& ref) const {
    return in_arena(program_.buffers[static_cast<size_t>(ref.buffer)]);
  }
  bool is_padding(const Step& step) const {
    const auto* fill = std::get_if<FillStep>(&step.what);
    return fill && step.choice < 0 && scattered_.contains(fill->to.buffer);
  }
  bool goes_late(const Step& step) const {
    const auto* gather = collective(step, CollectiveKind::all_gather);
    return (gather && is_in_arena(gather->to)) || is_padding(step);
  }
  bool goes_early(const Step& step) const {
    const auto* scatter = collective(step, CollectiveKind::reduce_scatter);
    return scatter && is_in_arena(scatter->from) && is_in_arena(scatter->to);
  }

  /// Returns whether no later step touches its result; one may write to its operand.
  bool is_for_nothing(size_t step) const {
    Footprint made;
    std::ranges::copy_if(touches_[step], std::back_inserter(made), &Touch::written);
    return std::none_of(touches_.begin() + static_cast<ptrdiff_t>(step) + 1, touches_.end(),
                        [&](const Footprint& other) { return conflict(made, other); });
  }

  void move_late(size_t step) {
    if (collective(steps_[step], CollectiveKind::all_gather) && is_for_nothing(step)) return erase(step);
    size_t next = step + 1;
    while (next < steps_.size() && !conflict(touches_[step], touches_[next])) ++next;
    if (next < steps_.size()) next = together_with(steps_, next).begin;
    move(step, next);
  }

  void erase(size_t step) {
    changed_ = true;
    const int made = std::get<CollectiveStep>(steps_[step].what).to.buffer;
    steps_.erase(steps_.begin() + static_cast<ptrdiff_t>(step));
    touches_.erase(touches_.begin() + static_cast<ptrdiff_t>(step));
    const auto touches = [made](const Step& other) {
      return std::ranges::count(other.reads, made) > 0 || std::ranges::count(other.writes, made) > 0;
    };
    if (std::ranges::none_of(steps_, touches)) program_.buffers[static_cast<size_t>(made)].elements = 0;
  }

  /// Moves the step and the fills that it reads to after all steps that they depend on.
  void move_early(size_t step) {
    std::vector<size_t> own = {step};
    size_t first = step;
    while (first > 0) {
      const size_t before = first - 1;
      const bool waits =
          std::ranges::any_of(own, [&](size_t i) { return conflict(touches_[i], touches_[before]); });
      if (waits && !is_padding(steps_[before])) break;
      if (waits) own.push_back(before);
      first = before;
    }
    while (first < step && steps_[first].choice >= 0 && together_with(steps_, first).begin < first) ++first;
    std::ranges::sort(own);
    for (const size_t i : own)
      if (i >= first) move_to_front(i, first++);
  }

  void move_to_front(size_t from, size_t to) {
    if (from <= to) return;
    changed_ = true;
    rotate_both(to, from, from + 1);
  }

  /// Moves the step to directly before `next`.
  void move(size_t step, size_t next) {
    if (next == step + 1) return;
    changed_ = true;
    rotate_both(step, step + 1, next);
  }

  void rotate_both(size_t first, size_t middle, size_t last) {
    const auto rotate = [&](auto& items) {
      const auto begin = items.begin();
      std::rotate(begin + static_cast<ptrdiff_t>(first), begin + static_cast<ptrdiff_t>(middle),
                  begin + static_cast<ptrdiff_t>(last));
    };
    rotate(steps_), rotate(touches_);
  }

  Program& program_;
  std::vector<Step>& steps_;
  std::vector<Footprint> touches_;
  std::set<int> scattered_;  // buffers in the arena
  bool changed_ = false;
};

}  // namespace

bool place_collectives(Program& program) {
  bool changed = false;
  if (program.mesh.empty()) return changed;
  for (PlanEntry& entry : program.entries) changed |= Placement(program, entry).run();
  return changed;
}

}  // namespace smelt
