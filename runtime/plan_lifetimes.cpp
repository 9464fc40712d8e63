// Proof that buffers of an entry that live at the same time do not share memory of the arena, except where a
// step writes one in place of another that ends with it.
#include <algorithm>
#include <map>
#include <set>

#include "runtime/error.h"
#include "runtime/plan_validate.h"

namespace smelt {
namespace {

class LifetimeCheck {
 public:
  LifetimeCheck(const Plan& plan, const PlanEntry& entry) : plan_(plan), entry_(entry) {}

  void run() {
    collect();
    for (size_t step = 0; step < entry_.steps.size(); ++step) advance(static_cast<int>(step));
  }

 private:
  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<size_t>(index)]; }
  static int64_t end(const Buffer& b) { return b.offset_bytes + b.bytes; }

  void collect() {
    std::set<int> used;
    for (size_t step = 0; step < entry_.steps.size(); ++step)
      for (const auto* list : {&entry_.steps[step].reads, &entry_.steps[step].writes})
        for (const int index : *list) {
          if (!in_arena(buffer(index).role)) continue;
          used.insert(index);
          require_alive(index, static_cast<int>(step));
        }
    for (const Port& port : entry_.outputs) require_kept(port, used);
    for (const int index : used) {
      const Buffer& b = buffer(index);
      if (b.bytes > 0) begins_[b.first_step].push_back(index);
    }
  }

  void require_alive(int index, int step) const {
    const Buffer& b = buffer(index);
    const bool within = b.first_step >= 0 && b.last_step < static_cast<int>(entry_.steps.size());
    if (!within || step < b.first_step || step > b.last_step)
      refuse(fmt::format("{} uses buffer '{}', which lives from step {} to {}", describe_step(entry_, step),
                         b.name, b.first_step, b.last_step));
  }

  void require_kept(const Port& port, const std::set<int>& used) const {
    const Buffer& b = buffer(port.buffer);
    if (!in_arena(b.role)) return;
    if (used.count(port.buffer) == 0) refuse(fmt::format("no step writes output '{}'", port.name));
    if (b.last_step + 1 != static_cast<int>(entry_.steps.size()))
      refuse(
          fmt::format("output '{}' is in buffer '{}', which ends at step {}: expected it to live to the end",
                      port.name, b.name, b.last_step));
  }

  /// Live buffers are disjoint: at most the one before an address and those after it can overlap a range.
  std::vector<int> overlapping(const Buffer& b) const {
    std::vector<int> found;
    auto next = live_.lower_bound(b.offset_bytes);
    if (next != live_.begin() && end(buffer(std::prev(next)->second)) > b.offset_bytes)
      found.push_back(std::prev(next)->second);
    for (; next != live_.end() && next->first < end(b); ++next) found.push_back(next->second);
    return found;
  }

  void advance(int step) {
    const auto beginning = begins_.find(step);
    if (beginning != begins_.end())
      for (const int index : beginning->second)
        for (const int other : overlapping(buffer(index)))
          if (!in_place(step, index, other)) refuse_overlap(index, other, step);
    end_buffers(step);
    if (beginning == begins_.end()) return;
    for (const int index : beginning->second) {
      for (const int other : overlapping(buffer(index))) refuse_overlap(index, other, step);
      live_[buffer(index).offset_bytes] = index;
      ends_[buffer(index).last_step].push_back(index);
    }
    end_buffers(step);
  }

  void end_buffers(int step) {
    const auto ending = ends_.find(step);
    if (ending == ends_.end()) return;
    for (const int index : ending->second) live_.erase(buffer(index).offset_bytes);
    ends_.erase(ending);
  }

  /// `index`, written by the step, takes exactly the place of `other`, which the step is the last to read.
  bool in_place(int step, int index, int other) const {
    const auto& pairs = entry_.steps[static_cast<size_t>(step)].may_alias;
    const bool declared = std::find(pairs.begin(), pairs.end(), std::pair(index, other)) != pairs.end();
    return declared && buffer(other).last_step == step &&
           buffer(other).offset_bytes == buffer(index).offset_bytes;
  }

  [[noreturn]] void refuse_overlap(int a, int b, int step) const {
    refuse(fmt::format("buffers '{}' [{}, {}) and '{}' [{}, {}) share memory in {}: expected them apart",
                       buffer(a).name, buffer(a).offset_bytes, end(buffer(a)), buffer(b).name,
                       buffer(b).offset_bytes, end(buffer(b)),
                       describe_step(entry_, static_cast<size_t>(step))));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail_with(Status::invalid_file, "entry '{}': {}", entry_.name, what);
  }

  const Plan& plan_;
  const PlanEntry& entry_;
  std::map<int, std::vector<int>> begins_, ends_;
  std::map<int64_t, int> live_;  // by offset
};

}  // namespace

void check_lifetimes(const Plan& plan, const PlanEntry& entry) { LifetimeCheck(plan, entry).run(); }

}  // namespace smelt
