#include "compiler/report/plan_diff.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_values.h"

namespace smelt {
namespace {

/// The work of a step, as text.
class StepWork {
 public:
  explicit StepWork(const Program& program) {
    for (Kernel kernel : program.kernels) {
      kernel.name.clear();
      kernels_.push_back(print(kernel));
    }
  }

  std::string text(const Step& step) const {
    if (const auto* launch = std::get_if<KernelStep>(&step.what))
      return fmt::format("kernel {} {}", kernels_[static_cast<size_t>(launch->kernel)], step.kernels.size());
    const StepValues values = values_of(step);
    std::string work = fmt::format("{}{}", kind_name(step), attributes(step));
    for (const auto& [field, value] : values.integers) work += fmt::format(" {}={}", field, value.str());
    for (const auto& [field, value] : values.reals) work += fmt::format(" {}={}", field, value);
    return work;
  }

 private:
  /// Words, types and flags of a step.
  static std::string attributes(const Step& step) {
    std::string text;
    const auto field = [&]<typename T>(std::string_view field, const T& value, const auto&) {
      if constexpr (std::is_enum_v<T>)
        text += fmt::format(" {}={}", field, name(value));
      else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
        text += fmt::format(" {}={}", field, value);
      else if constexpr (std::is_same_v<T, std::optional<BufferRef>>)
        text += fmt::format(" {}={}", field, value.has_value());
    };
    std::visit([&](const auto& kind) { visit_fields(field, kind); }, step.what);
    return text;
  }

  std::vector<std::string> kernels_;
};

std::string origin(const Step& step) {
  std::vector<std::string> sources = step.sources;
  llvm::sort(sources);
  return fmt::format("{}: {}", step.phase, fmt::join(sources, " + "));
}

/// The length of the longest part of the list, with gaps, that rises.
size_t longest_rise(const std::vector<int>& numbers) {
  std::vector<int> ends;  // of the rises of each length, the least last number
  for (const int number : numbers) {
    const auto at = std::ranges::lower_bound(ends, number);
    if (at == ends.end())
      ends.push_back(number);
    else
      *at = number;
  }
  return ends.size();
}

class EntryComparison {
 public:
  EntryComparison(const PlanEntry& before, const StepWork& work_before, const PlanEntry& after,
                  const StepWork& work_after)
      : before_(before), after_(after) {
    result_.entry = before.name;
    pair_equal(work_before, work_after);
    pair_changed();
    group_rest();
    llvm::sort(result_.changes, [](const StepChange& a, const StepChange& b) { return first(a) < first(b); });
  }
  EntryDiff take() { return std::move(result_); }

 private:
  void pair_equal(const StepWork& work_before, const StepWork& work_after) {
    std::map<std::string, std::vector<int>> there;
    const auto key = [](const Step& step, const StepWork& work) {
      return origin(step) + "\n" + work.text(step);
    };
    for (int i = static_cast<int>(after_.steps.size()) - 1; i >= 0; --i)
      there[key(after_.steps[static_cast<size_t>(i)], work_after)].push_back(i);
    for (size_t i = 0; i < before_.steps.size(); ++i) {
      std::vector<int>& same = there[key(before_.steps[i], work_before)];
      if (same.empty()) {
        gone_.push_back(static_cast<int>(i));
        continue;
      }
      result_.equal.emplace_back(static_cast<int>(i), same.back());
      same.pop_back();
    }
    for (const auto& [text, numbers] : there) made_.insert(made_.end(), numbers.begin(), numbers.end());
    llvm::sort(made_);
    std::vector<int> order;
    for (const auto& pair : result_.equal) order.push_back(pair.second);
    result_.moved = static_cast<int>(order.size() - longest_rise(order));
  }

  /// Steps of the same sources that do other work.
  void pair_changed() {
    std::map<std::string, std::vector<int>> there;
    for (const int j : llvm::reverse(made_)) there[origin(after_.steps[static_cast<size_t>(j)])].push_back(j);
    std::vector<int> left;
    for (const int i : gone_) {
      std::vector<int>& same = there[origin(before_.steps[static_cast<size_t>(i)])];
      if (same.empty()) {
        left.push_back(i);
        continue;
      }
      result_.changes.push_back({{i}, {same.back()}});
      llvm::erase(made_, same.back());
      same.pop_back();
    }
    gone_ = std::move(left);
  }

  bool share_sources(int before, int after) const {
    const Step& a = before_.steps[static_cast<size_t>(before)];
    const Step& b = after_.steps[static_cast<size_t>(after)];
    if (a.phase != b.phase) return false;
    return llvm::any_of(a.sources, [&](const std::string& s) { return llvm::is_contained(b.sources, s); });
  }

  /// The steps that are in one plan alone, those together that have sources in common across the two.
  void group_rest() {
    llvm::EquivalenceClasses<int> groups;  // after's steps by ~number
    for (const int i : gone_) groups.insert(i);
    for (const int j : made_) groups.insert(~j);
    for (const int i : gone_)
      for (const int j : made_)
        if (share_sources(i, j)) groups.unionSets(i, ~j);
    for (auto leader = groups.begin(); leader != groups.end(); ++leader) {
      if (!leader->isLeader()) continue;
      StepChange change;
      for (auto member = groups.member_begin(leader); member != groups.member_end(); ++member)
        if (*member >= 0)
          change.before.push_back(*member);
        else
          change.after.push_back(~*member);
      llvm::sort(change.before), llvm::sort(change.after);
      result_.changes.push_back(std::move(change));
    }
  }

  static std::pair<int, bool> first(const StepChange& change) {
    return change.before.empty() ? std::pair(change.after.front(), true)
                                 : std::pair(change.before.front(), false);
  }

  const PlanEntry &before_, &after_;
  std::vector<int> gone_, made_;
  EntryDiff result_;
};

}  // namespace

const PlanEntry* find_entry(const Program& program, const std::string& name) {
  const auto found = std::ranges::find(program.entries, name, &PlanEntry::name);
  return found == program.entries.end() ? nullptr : &*found;
}

bool PlanDiff::is_empty() const {
  return only_before.empty() && only_after.empty() && llvm::all_of(entries, [](const EntryDiff& entry) {
           return entry.changes.empty() && entry.moved == 0;
         });
}

PlanDiff diff_plans(const Program& before, const Program& after) {
  const StepWork work_before(before), work_after(after);
  PlanDiff diff;
  for (const PlanEntry& entry : before.entries)
    if (const PlanEntry* other = find_entry(after, entry.name))
      diff.entries.push_back(EntryComparison(entry, work_before, *other, work_after).take());
    else
      diff.only_before.push_back(entry.name);
  for (const PlanEntry& entry : after.entries)
    if (!find_entry(before, entry.name)) diff.only_after.push_back(entry.name);
  return diff;
}

}  // namespace smelt
