// Proof that buffers of an entry that are live at the same step do not share memory of the arena, except
// where a step writes one in place of another that ends with it.
#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

/// Also of parts that no step uses.
std::vector<LiveRange> ranges_of_parts(const Buffer& b) {
  const int64_t begin = b.offset_bytes, end = begin + b.bytes;
  std::vector<LiveRange> ranges;
  for (size_t i = 0; i < b.parts.size(); ++i) {
    const BufferPart& part = b.parts[i];
    const int64_t next = i + 1 < b.parts.size() ? begin + b.parts[i + 1].begin : end;
    ranges.push_back({begin + part.begin, next, part.first_step, part.last_step});
  }
  return ranges;
}

class LifetimeCheck {
 public:
  LifetimeCheck(const Plan& plan, const PlanEntry& entry) : plan_(plan), entry_(entry) {}

  void run() {
    collect();
    for (size_t step = 0; step < entry_.steps.size(); ++step) advance(static_cast<int>(step));
  }

 private:
  /// The arena range of a buffer during some steps.
  struct Range : LiveRange {
    int buffer;
  };

  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<size_t>(index)]; }

  void collect() {
    std::set<int> used;
    for (size_t step = 0; step < entry_.steps.size(); ++step)
      for (const auto* list : {&entry_.steps[step].reads, &entry_.steps[step].writes})
        for (const int index : *list) {
          if (!in_arena(buffer(index).role)) continue;
          used.insert(index);
          require_alive(index, static_cast<int>(step));
          const bool reads = list == &entry_.steps[step].reads;
          require_alive(index, static_cast<int>(used_until(entry_.steps, step, index, reads)));
        }
    for (size_t step = 0; step < entry_.steps.size(); ++step)
      for (const BufferRef& ref : first_elements(entry_.steps[step])) {
        require_part(ref, static_cast<int>(step));
        require_part(ref, static_cast<int>(used_until(entry_.steps, step, ref.buffer, true)));
      }
    for (const Port& port : entry_.outputs) require_kept(port, used);
    for (const int index : used)
      for (const LiveRange& range : live_ranges(buffer(index)))
        if (range.begin < range.end) begins_[range.first].push_back({range, index});
  }

  /// Returns the begin of each access of a kernel, which may be after its argument's position; for other
  /// steps the positions that they point to.
  std::vector<BufferRef> first_elements(const Step& step) const {
    const auto* launch = std::get_if<KernelStep>(&step.what);
    if (!launch) return references(step);
    const KernelCode& kernel = plan_.kernels[static_cast<size_t>(launch->kernel)];
    std::vector<BufferRef> refs;
    for (size_t i = 0; i < launch->arguments.size(); ++i) {
      const BufferRef& argument = launch->arguments[i];
      const KernelParameter& parameter = kernel.parameters[i % kernel.parameters.size()];
      if (parameter.accesses.empty() || !parameter.table_elements.is_zero()) refs.push_back(argument);
      for (const KernelAccess& access : parameter.accesses)
        refs.push_back({argument.buffer, argument.offset + access.offset});
    }
    return refs;
  }

  void require_alive(int index, int step) const {
    const Buffer& b = buffer(index);
    const bool within = b.first_step >= 0 && b.last_step < static_cast<int>(entry_.steps.size());
    if (!within || step < b.first_step || step > b.last_step)
      refuse(fmt::format("{} uses buffer '{}', which lives from step {} to {}", describe_step(entry_, step),
                         b.name, b.first_step, b.last_step));
  }

  /// Checks that the position that a step points to is in use at that step. The extent of the access is not
  /// examined.
  void require_part(const BufferRef& ref, int step) const {
    const Buffer& b = buffer(ref.buffer);
    if (b.parts.empty()) return;
    const auto offset = ref.offset.constant();
    const int64_t at = b.offset_bytes + offset.value_or(0) * size_of(b.dtype);
    for (const LiveRange& part : ranges_of_parts(b)) {
      const bool meant = !offset || (part.begin <= at && at < part.end);
      if (meant && (step < part.first || step > part.last))
        refuse(fmt::format("{} uses a part of buffer '{}', which lives from step {} to {}",
                           describe_step(entry_, static_cast<size_t>(step)), b.name, part.first, part.last));
    }
  }

  void require_kept(const Port& port, const std::set<int>& used) const {
    const Buffer& b = buffer(port.buffer);
    if (!in_arena(b.role)) return;
    if (used.count(port.buffer) == 0) refuse(fmt::format("no step writes output '{}'", port.name));
    if (b.last_step + 1 != static_cast<int>(entry_.steps.size()) || !b.parts.empty())
      refuse(
          fmt::format("output '{}' is in buffer '{}', which ends at step {}: expected it to live to the end",
                      port.name, b.name, b.last_step));
  }

  /// Live ranges are disjoint: at most the one before an address and those after it can overlap a range.
  std::vector<Range> overlapping(const Range& range) const {
    std::vector<Range> found;
    auto next = live_.lower_bound(range.begin);
    if (next != live_.begin() && std::prev(next)->second.end > range.begin)
      found.push_back(std::prev(next)->second);
    for (; next != live_.end() && next->first < range.end; ++next) found.push_back(next->second);
    return found;
  }

  void advance(int step) {
    const auto beginning = begins_.find(step);
    if (beginning != begins_.end())
      for (const Range& range : beginning->second)
        for (const Range& other : overlapping(range))
          if (!in_place(step, range, other)) refuse_overlap(range, other, step);
    end_ranges(step);
    if (beginning == begins_.end()) return;
    for (const Range& range : beginning->second) {
      if (gives_way(range, beginning->second, step)) continue;
      for (const Range& other : overlapping(range)) refuse_overlap(range, other, step);
      live_[range.begin] = range;
      ends_[range.last].push_back(range.begin);
    }
    end_ranges(step);
  }

  /// Nothing was ever in a range, such as the end of a padded row, that begins with the step which reads it
  /// last, does not write it, and writes another buffer in its place.
  bool gives_way(const Range& range, const std::vector<Range>& beginning, int step) const {
    const std::vector<int>& writes = entry_.steps[static_cast<size_t>(step)].writes;
    if (range.last != step || std::find(writes.begin(), writes.end(), range.buffer) != writes.end())
      return false;
    return std::any_of(beginning.begin(), beginning.end(), [&](const Range& written) {
      return written.overlaps(range) && in_place(step, written, range);
    });
  }

  void end_ranges(int step) {
    const auto ending = ends_.find(step);
    if (ending == ends_.end()) return;
    for (const int64_t begin : ending->second) live_.erase(begin);
    ends_.erase(ending);
  }

  /// Returns whether the step's output has exactly the memory of another buffer, which the step is the last
  /// to read.
  bool in_place(int step, const Range& written, const Range& read) const {
    const auto& pairs = entry_.steps[static_cast<size_t>(step)].may_alias;
    const bool declared =
        std::find(pairs.begin(), pairs.end(), std::pair(written.buffer, read.buffer)) != pairs.end();
    return declared && read.last == step &&
           buffer(read.buffer).offset_bytes == buffer(written.buffer).offset_bytes;
  }

  [[noreturn]] void refuse_overlap(const Range& a, const Range& b, int step) const {
    refuse(fmt::format("buffers '{}' [{}, {}) and '{}' [{}, {}) share memory in {}: expected them apart",
                       buffer(a.buffer).name, a.begin, a.end, buffer(b.buffer).name, b.begin, b.end,
                       describe_step(entry_, static_cast<size_t>(step))));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail_with(Status::invalid_file, "entry '{}': {}", entry_.name, what);
  }

  const Plan& plan_;
  const PlanEntry& entry_;
  std::map<int, std::vector<Range>> begins_;
  std::map<int, std::vector<int64_t>> ends_;  // where the ranges lie that end with a step
  std::map<int64_t, Range> live_;             // by where they begin
};

}  // namespace

std::vector<LiveRange> live_ranges(const Buffer& b) {
  if (b.parts.empty()) return {{b.offset_bytes, b.offset_bytes + b.bytes, b.first_step, b.last_step}};
  std::vector<LiveRange> ranges = ranges_of_parts(b);
  std::erase_if(ranges, [](const LiveRange& range) { return range.first < 0; });
  return ranges;
}

void check_lifetimes(const Plan& plan, const PlanEntry& entry) { LifetimeCheck(plan, entry).run(); }

}  // namespace smelt
