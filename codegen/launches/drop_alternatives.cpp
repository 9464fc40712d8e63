#include "codegen/launches/launch_passes.h"

#include <algorithm>
#include <set>
#include <span>

#include "codegen/launches/join_steps.h"
#include "runtime/plan/choices.h"

namespace smelt {
namespace {

class AlternativeDropper {
 public:
  AlternativeDropper(Program& program, PlanEntry& entry, const std::vector<bool>& heavy)
      : program_(program), entry_(entry), heavy_(heavy), kept_(entry.steps.size(), true) {}

  bool run() {
    for (size_t next = 0; next < entry_.steps.size();) {
      const StepSpan steps = together_with(entry_.steps, next);
      if (entry_.steps[next].choice >= 0) choose(steps);
      next = steps.end;
    }
    if (std::ranges::find(kept_, false) == kept_.end()) return false;
    renumber_lifetimes();
    erase_steps();
    return true;
  }

 private:
  bool is_heavy(const StepSpan& steps) const {
    for (size_t i = steps.begin; i < steps.end; ++i) {
      const auto* launch = std::get_if<KernelStep>(&entry_.steps[i].what);
      if (launch && heavy_[static_cast<size_t>(launch->kernel)]) return true;
    }
    return false;
  }

  void choose(const StepSpan& steps) {
    const std::vector<StepSpan> all = alternatives_of(entry_.steps, steps);
    Choice& choice = entry_.choices[static_cast<size_t>(entry_.steps[steps.begin].choice)];
    // One that sizes decide on has no other in its place.
    const auto measured = std::span(all).first(all.size() - (choice.last_where ? 1 : 0));
    const auto heavy = [&](const StepSpan& alternative) { return is_heavy(alternative); };
    if (std::ranges::none_of(measured, heavy) || std::ranges::all_of(measured, heavy)) return;
    auto& names = choice.alternatives;
    const std::vector<std::string> before = std::exchange(names, {});
    for (size_t i = 0; i < all.size(); ++i) {
      const bool drops = i < measured.size() && is_heavy(all[i]);
      for (size_t step = all[i].begin; step < all[i].end; ++step) {
        entry_.steps[step].alternative = static_cast<int>(names.size());
        kept_[step] = !drops;
      }
      if (!drops) names.push_back(before[i]);
    }
  }

  /// Renumbers lifetimes; those of buffers that only erased steps use do not matter.
  void renumber_lifetimes() {
    std::vector<int> kept_before = {0};
    for (const bool kept : kept_) kept_before.push_back(kept_before.back() + (kept ? 1 : 0));
    const auto renumber = [&](int& first, int& last) {
      if (first < 0) return;  // memory is not planned yet
      first = kept_before[static_cast<size_t>(first)];
      last = std::max(first, kept_before[static_cast<size_t>(last) + 1] - 1);
    };
    for (const int number : buffers()) {
      Buffer& buffer = program_.buffers[static_cast<size_t>(number)];
      renumber(buffer.first_step, buffer.last_step);
      for (BufferPart& part : buffer.parts) renumber(part.first_step, part.last_step);
    }
    for (Step& step : entry_.steps)
      if (auto* collective = std::get_if<CollectiveStep>(&step.what);
          collective && collective->waited_at >= 0)
        collective->waited_at = kept_before[static_cast<size_t>(collective->waited_at)];
  }

  std::set<int> buffers() const {
    std::set<int> used;
    for (const Step& step : entry_.steps) {
      used.insert(step.reads.begin(), step.reads.end());
      used.insert(step.writes.begin(), step.writes.end());
    }
    return used;
  }

  void erase_steps() {
    std::vector<Step> steps;
    for (size_t i = 0; i < kept_.size(); ++i)
      if (kept_[i]) steps.push_back(std::move(entry_.steps[i]));
    entry_.steps = std::move(steps);
  }

  Program& program_;
  PlanEntry& entry_;
  const std::vector<bool>& heavy_;
  std::vector<bool> kept_;  // steps
};

}  // namespace

bool drop_alternatives(Program& program, const std::vector<bool>& heavy) {
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= AlternativeDropper(program, entry, heavy).run();
  if (changed) drop_unused_kernels(program);
  return changed;
}

}  // namespace smelt
