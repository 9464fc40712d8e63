#include "runtime/plan/choices.h"

#include <algorithm>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

/// Buffers, or states by numbers below -1, which several buffers may stand for.
using Memories = std::set<int>;

class ChoiceCheck {
 public:
  ChoiceCheck(const Plan& plan, const PlanEntry& entry)
      : plan_(plan), entry_(entry), seen_(entry.choices.size()) {}

  void run() {
    for (size_t next = 0; next < entry_.steps.size();) {
      const StepSpan steps = together_with(entry_.steps, next);
      if (entry_.steps[next].choice >= 0) check(steps);
      next = steps.end;
    }
    for (size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i]) fail_with(Status::invalid_file, "entry '{}': choice {} has no steps", entry_.name, i);
  }

 private:
  void check(const StepSpan& steps) {
    check_numbers(steps);
    const std::vector<StepSpan> alternatives = alternatives_of(entry_.steps, steps);
    std::vector<Memories> written;
    for (const StepSpan& alternative : alternatives) written.push_back(written_by(alternative));
    for (const StepSpan& alternative : alternatives) check_reads(alternative, written);
    check_results(alternatives, written);
  }

  /// One choice in one place, whose alternatives are numbered from 0 on without gaps.
  void check_numbers(const StepSpan& steps) {
    const auto choice = static_cast<size_t>(entry_.steps[steps.begin].choice);
    if (choice >= seen_.size() || seen_[choice])
      refuse(steps.begin, "belongs to choice {}: expected one of {} of the entry, in one place", choice,
             seen_.size());
    seen_[choice] = true;
    int last = 0;
    for (size_t i = steps.begin; i < steps.end; ++i) {
      const int number = entry_.steps[i].alternative;
      const bool follows = number == last || (number == last + 1 && i > steps.begin);
      if (!follows) refuse(i, "is of alternative {}: expected {} or the next", number, last);
      last = number;
    }
    const size_t named = entry_.choices[choice].alternatives.size();
    if (named != static_cast<size_t>(last) + 1)
      refuse(steps.begin, "belongs to a choice of {} alternatives: expected {} names, there are {}", last + 1,
             last + 1, named);
  }

  int memory(int buffer) const {
    const int state = plan_.buffers[static_cast<size_t>(buffer)].state;
    return state < 0 ? buffer : -2 - state;
  }
  std::string name_of(int memory) const {
    return memory >= 0 ? plan_.buffers[static_cast<size_t>(memory)].name
                       : plan_.states[static_cast<size_t>(-2 - memory)].name;
  }

  Memories written_by(const StepSpan& steps) const {
    Memories written;
    for (size_t i = steps.begin; i < steps.end; ++i)
      for (const int buffer : entry_.steps[i].writes) written.insert(memory(buffer));
    return written;
  }

  /// Checks that an alternative reads memory that any alternative writes only after its own write.
  void check_reads(const StepSpan& alternative, const std::vector<Memories>& written) const {
    Memories own;
    for (size_t i = alternative.begin; i < alternative.end; ++i) {
      const Step& step = entry_.steps[i];
      for (const int buffer : step.reads) {
        const int read = memory(buffer);
        const bool changes =
            std::ranges::any_of(written, [&](const Memories& m) { return m.contains(read); });
        if (changes && !own.contains(read))
          refuse(i, "reads '{}', which an alternative writes: expected it to be written here before",
                 name_of(read));
      }
      for (const auto& alias : step.may_alias)
        if (!own.contains(memory(alias.second)))
          refuse(i,
                 "may write in the place of '{}', which other alternatives read: it is not its alternative's "
                 "own",
                 name_of(memory(alias.second)));
      for (const int buffer : step.writes) own.insert(memory(buffer));
    }
  }

  /// Checks that all alternatives write the memory of one that other steps read.
  void check_results(const std::vector<StepSpan>& alternatives, const std::vector<Memories>& written) const {
    for (size_t a = 0; a < alternatives.size(); ++a)
      for (const int result : written[a]) {
        if (!is_seen(result, alternatives[a])) continue;
        for (size_t other = 0; other < alternatives.size(); ++other)
          if (!written[other].contains(result))
            refuse(alternatives[other].begin,
                   "begins an alternative that does not write '{}': expected all to", name_of(result));
      }
  }

  /// Returns whether the memory is read by steps outside this alternative, or after the run.
  bool is_seen(int memory, const StepSpan& alternative) const {
    if (memory < 0 || !in_arena(plan_.buffers[static_cast<size_t>(memory)].role)) return true;
    for (const Port& port : entry_.outputs)
      if (port.buffer == memory) return true;
    for (size_t i = 0; i < entry_.steps.size(); ++i) {
      const bool own = i >= alternative.begin && i < alternative.end;
      if (!own && touches(entry_.steps[i], memory)) return true;
    }
    return false;
  }
  static bool touches(const Step& step, int buffer) {
    return std::ranges::count(step.reads, buffer) + std::ranges::count(step.writes, buffer) > 0;
  }

  template <typename... Args>
  [[noreturn]] void refuse(size_t step, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(Status::invalid_file, "{} {}", describe_step(entry_, step),
              fmt::format(format, std::forward<Args>(args)...));
  }

  const Plan& plan_;
  const PlanEntry& entry_;
  std::vector<bool> seen_;  // choices
};

}  // namespace

StepSpan together_with(const std::vector<Step>& steps, size_t step) {
  StepSpan span{step, step + 1};
  if (steps[step].choice < 0) return span;
  const auto same = [&](size_t i) { return steps[i].choice == steps[step].choice; };
  while (span.begin > 0 && same(span.begin - 1)) --span.begin;
  while (span.end < steps.size() && same(span.end)) ++span.end;
  return span;
}

std::vector<StepSpan> alternatives_of(const std::vector<Step>& steps, const StepSpan& choice) {
  std::vector<StepSpan> alternatives;
  for (size_t i = choice.begin; i < choice.end; ++i) {
    if (i == choice.begin || steps[i].alternative != steps[i - 1].alternative) alternatives.push_back({i, i});
    alternatives.back().end = i + 1;
  }
  return alternatives;
}

bool may_run(const Choice& choice, int alternative, const SymbolValues& values) {
  if (!choice.last_where) return true;
  const bool is_last = alternative + 1 == std::ssize(choice.alternatives);
  return is_last == (choice.last_where->value.evaluate(values) < choice.last_where->below);
}

int unmeasured_alternative(const Choice& choice, const SymbolValues& values) {
  return may_run(choice, 0, values) ? 0 : static_cast<int>(choice.alternatives.size()) - 1;
}

size_t needed_until(const std::vector<Step>& steps, size_t step, int buffer) {
  const StepSpan choice = together_with(steps, step);
  for (size_t i = choice.begin; i < choice.end; ++i)
    if (std::ranges::count(steps[i].writes, buffer) > 0) return step;
  return choice.end - 1;
}

size_t used_until(const std::vector<Step>& steps, size_t step, int buffer, bool reads) {
  if (const int waited = waited_at(steps[step]); waited >= 0) return static_cast<size_t>(waited) - 1;
  return reads ? needed_until(steps, step, buffer) : step;
}

void check_choices(const Plan& plan, const PlanEntry& entry) { ChoiceCheck(plan, entry).run(); }

}  // namespace smelt
