#include "passes/program/memory/memory_passes.h"

#include <algorithm>
#include <set>

#include "passes/program/memory/buffer_parts.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

struct BufferRange : LiveRange {
  int buffer;
};

class OverlapCheck {
 public:
  OverlapCheck(const Program& program, const PlanEntry& entry)
      : program_(program), entry_(entry), beginning_(entry.steps.size()), ending_(entry.steps.size()) {
    for (const Step& step : entry.steps) aliases_.insert(step.may_alias.begin(), step.may_alias.end());
    std::map<int, Lifetime> lives = lifetimes(program, entry.steps);
    find_parts(program, entry.steps, lives);
    for (const auto& [number, life] : lives)
      for (const LiveRange& range :
           live_ranges(life, program.buffers[static_cast<size_t>(number)].offset_bytes))
        if (range.begin < range.end) beginning_[static_cast<size_t>(range.first)].push_back({range, number});
  }

  void run() {
    for (size_t step = 0; step < beginning_.size(); ++step) advance(static_cast<int>(step));
  }

 private:
  /// Compares the ranges that begin with the step with those from before it and with each other. Ranges that
  /// live on are then disjoint.
  void advance(int step) {
    std::vector<BufferRange>& beginning = beginning_[static_cast<size_t>(step)];
    std::ranges::sort(beginning, {}, &BufferRange::begin);
    for (auto range = beginning.begin(); range != beginning.end(); ++range) {
      compare_with_live(*range);
      for (auto other = std::next(range); other != beginning.end() && other->begin < range->end; ++other)
        require_apart(*range, *other);
    }
    for (const int64_t begin : ending_[static_cast<size_t>(step)]) live_.erase(begin);
    for (const BufferRange& range : beginning) {
      if (range.last == step) continue;
      live_.emplace(range.begin, range);
      ending_[static_cast<size_t>(range.last)].push_back(range.begin);
    }
  }

  /// Live ranges are disjoint: at most one of them begins before an address and reaches it.
  void compare_with_live(const BufferRange& range) const {
    auto next = live_.lower_bound(range.begin);
    if (next != live_.begin()) require_apart(std::prev(next)->second, range);
    for (; next != live_.end() && next->first < range.end; ++next) require_apart(next->second, range);
  }

  void require_apart(const BufferRange& x, const BufferRange& y) const {
    if (x.buffer == y.buffer || !x.overlaps(y)) return;
    const int first = std::max(x.first, y.first), last = std::min(x.last, y.last);
    const int a = x.buffer, b = y.buffer;
    // They share memory in place: both live only in the step that may alias them.
    if (first == last && (aliases_.contains({a, b}) || aliases_.contains({b, a}))) return;
    fail_with(Status::internal, "plan_memory: @{}: buffers {} \"{}\" and {} \"{}\" overlap in steps {} to {}",
              entry_.name, a, program_.buffers[static_cast<size_t>(a)].name, b,
              program_.buffers[static_cast<size_t>(b)].name, first, last);
  }

  const Program& program_;
  const PlanEntry& entry_;
  std::set<std::pair<int, int>> aliases_;  // of buffers, in any step
  std::vector<std::vector<BufferRange>> beginning_;
  std::vector<std::vector<int64_t>> ending_;  // where live ranges begin that end with a step
  std::map<int64_t, BufferRange> live_;       // by where they begin
};

}  // namespace

void check_memory(const Program& program) {
  for (const PlanEntry& entry : program.entries) OverlapCheck(program, entry).run();
}

}  // namespace smelt
