#include "passes/memory/plan_memory.h"

#include <algorithm>
#include <set>

#include "ir/analysis/host_states.h"
#include "passes/memory/buffer_parts.h"
#include "runtime/error.h"

namespace smelt {
namespace {

constexpr int64_t kAlignment = 256;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Buffers that share one place: a chain of in-place steps. The lifetime spans them all.
struct Place {
  std::vector<int> buffers;
  Lifetime life;
  int64_t offset = 0;
};

class EntryPlanner {
 public:
  EntryPlanner(Program& program, PlanEntry& entry)
      : program_(program), entry_(entry), lifetimes_(lifetimes(program, entry.steps)) {
    find_parts(program, entry.steps, lifetimes_);
  }

  void run() {
    make_places();
    merge_in_place();
    assign_offsets();
    for (const Place& place : places_) record(place);
  }

  MemoryReport report() const {
    MemoryReport result{.entry = entry_.name, .arena = entry_.arena_bytes, .by_role = {}};
    std::map<int, Lifetime> merged;
    for (size_t i = 0; i < places_.size(); ++i)
      if (!places_[i].buffers.empty()) merged[static_cast<int>(i)] = places_[i].life;
    for (const auto& [buffer, life] : lifetimes_) result.without_reuse += aligned(life.bytes);
    result.lower_bound = peak_live_bytes(merged, entry_.steps.size());
    add_roles(result, merged);
    return result;
  }

 private:
  void make_places() {
    for (const auto& [buffer, life] : lifetimes_) {
      place_of_[buffer] = static_cast<int>(places_.size());
      places_.push_back({{buffer}, life});
    }
  }

  void merge_in_place() {
    for (size_t i = 0; i < entry_.steps.size(); ++i)
      for (const auto& [written, read] : entry_.steps[i].may_alias) {
        auto out = place_of_.find(written), in = place_of_.find(read);
        if (out == place_of_.end() || in == place_of_.end() || out->second == in->second) continue;
        Place &target = places_[in->second], &source = places_[out->second];
        const int step = static_cast<int>(i);
        // Only where the input dies as the output is born, and the output fits.
        if (target.life.last != step || source.life.first != step || source.life.bytes > target.life.bytes)
          continue;
        target.life.last = source.life.last;
        for (BufferPart& part : target.life.parts) part.last_step = source.life.last;
        for (int buffer : std::exchange(source.buffers, {})) {
          target.buffers.push_back(buffer);
          place_of_[buffer] = in->second;
        }
      }
  }

  void assign_offsets() {
    std::vector<Place*> order;
    for (Place& place : places_)
      if (!place.buffers.empty()) order.push_back(&place);
    std::stable_sort(order.begin(), order.end(),
                     [](Place* a, Place* b) { return a->life.bytes > b->life.bytes; });
    for (Place* place : order) {
      place->offset = lowest_gap(live_ranges(place->life, 0));
      for (const LiveRange& range : live_ranges(place->life, place->offset))
        taken_.insert(std::ranges::upper_bound(taken_, range.begin, {}, &LiveRange::begin), range);
      entry_.arena_bytes = std::max(entry_.arena_bytes, place->offset + aligned(place->life.bytes));
    }
  }

  /// The lowest offset at which a place with these ranges overlaps nothing that is taken.
  int64_t lowest_gap(const std::vector<LiveRange>& ranges) const {
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const LiveRange& taken : taken_)
        for (const LiveRange& range : ranges) {
          if (!taken.overlaps({range.begin + offset, range.end + offset, range.first, range.last})) continue;
          offset = aligned(taken.end - range.begin);
          moved = true;
        }
    }
    return offset;
  }

  void record(const Place& place) {
    for (int number : place.buffers) {
      Buffer& buffer = program_.buffers[number];
      const Lifetime& life = lifetimes_.at(number);
      buffer.offset_bytes = place.offset;
      buffer.bytes = life.bytes;
      buffer.first_step = life.first;
      buffer.last_step = life.last;
      buffer.parts = life.parts;
    }
  }

  /// Arena bytes of each role at the step where most is live; states and ports as they are.
  void add_roles(MemoryReport& report, const std::map<int, Lifetime>& merged) const {
    const std::vector<int64_t> live = live_bytes(merged, entry_.steps.size());
    const auto peak = static_cast<int>(std::ranges::max_element(live) - live.begin());
    for (const auto& [index, life] : merged)
      for (const LiveRange& range : live_ranges(life, 0))
        if (range.first <= peak && peak <= range.last)
          report.by_role[program_.buffers[places_[index].buffers.front()].role] += range.end - range.begin;
    for (const Buffer& buffer : program_.buffers)
      if (buffer.state >= 0)
        report.by_role[buffer.role] +=
            device_bytes(program_, program_.states[static_cast<size_t>(buffer.state)]);
  }

  Program& program_;
  PlanEntry& entry_;
  std::map<int, Lifetime> lifetimes_;
  std::vector<Place> places_;
  std::map<int, int> place_of_;
  std::vector<LiveRange> taken_;  // by where they begin
};

/// Pairs of buffers that some step of the entry may alias.
std::set<std::pair<int, int>> alias_pairs(const PlanEntry& entry) {
  std::set<std::pair<int, int>> pairs;
  for (const Step& step : entry.steps) pairs.insert(step.may_alias.begin(), step.may_alias.end());
  return pairs;
}

/// What the steps need of the arena, worked out anew: a range with its buffer.
std::vector<std::pair<LiveRange, int>> needed(const Program& program, const PlanEntry& entry) {
  std::map<int, Lifetime> lives = lifetimes(program, entry.steps);
  find_parts(program, entry.steps, lives);
  std::vector<std::pair<LiveRange, int>> result;
  for (const auto& [number, life] : lives)
    for (const LiveRange& range : live_ranges(life, program.buffers[number].offset_bytes))
      result.emplace_back(range, number);
  return result;
}

void check_entry(const Program& program, const PlanEntry& entry) {
  const auto aliases = alias_pairs(entry);
  const auto ranges = needed(program, entry);
  for (auto x = ranges.begin(); x != ranges.end(); ++x)
    for (auto y = std::next(x); y != ranges.end(); ++y) {
      if (x->second == y->second || !x->first.overlaps(y->first)) continue;
      const int first = std::max(x->first.first, y->first.first),
                last = std::min(x->first.last, y->first.last);
      // They share memory in place: both live only in the step that may alias them.
      const int a = x->second, b = y->second;
      if (first == last && (aliases.count({a, b}) || aliases.count({b, a}))) continue;
      fail_with(Status::internal,
                "plan_memory: @{}: buffers {} \"{}\" and {} \"{}\" overlap in steps {} to {}", entry.name, a,
                program.buffers[a].name, b, program.buffers[b].name, first, last);
    }
}

}  // namespace

bool plan_memory(Program& program, const PlanMemoryOptions& options) {
  check_sizes(program);
  for (Buffer& buffer : program.buffers)
    if (!in_arena(buffer)) buffer.bytes = bytes_at_bounds(program, buffer);
  for (PlanEntry& entry : program.entries) {
    EntryPlanner planner(program, entry);
    planner.run();
    if (options.report) options.report->push_back(planner.report());
  }
  check_memory(program);
  return true;
}

void check_memory(const Program& program) {
  for (const PlanEntry& entry : program.entries) check_entry(program, entry);
}

}  // namespace smelt
