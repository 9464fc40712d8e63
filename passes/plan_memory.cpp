#include "passes/plan_memory.h"

#include <algorithm>
#include <set>

#include "passes/lifetimes.h"
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
      : program_(program), entry_(entry), lifetimes_(lifetimes(program, entry.steps)) {}

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
    std::vector<Place*> placed;  // by offset
    for (Place* place : order) {
      place->offset = lowest_gap(placed, *place);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), place,
                                     [](Place* a, Place* b) { return a->offset < b->offset; }),
                    place);
      entry_.arena_bytes = std::max(entry_.arena_bytes, place->offset + aligned(place->life.bytes));
    }
  }

  static int64_t lowest_gap(const std::vector<Place*>& placed, const Place& place) {
    int64_t offset = 0;
    for (const Place* other : placed) {
      if (other->life.last < place.life.first || place.life.last < other->life.first) continue;
      if (offset + aligned(place.life.bytes) <= other->offset) break;
      offset = std::max(offset, other->offset + aligned(other->life.bytes));
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
    }
  }

  /// Arena bytes of each role at the step where most is live; states and ports as they are.
  void add_roles(MemoryReport& report, const std::map<int, Lifetime>& merged) const {
    int64_t most = -1;
    int peak = 0;
    for (int step = 0; step < static_cast<int>(entry_.steps.size()); ++step) {
      int64_t live = 0;
      for (const auto& [place, life] : merged)
        if (life.first <= step && step <= life.last) live += life.bytes;
      if (live > most) most = live, peak = step;
    }
    for (const auto& [index, life] : merged)
      if (life.first <= peak && peak <= life.last)
        report.by_role[program_.buffers[places_[index].buffers.front()].role] += life.bytes;
    for (const Buffer& buffer : program_.buffers)
      if (buffer.state >= 0) report.by_role[buffer.role] += bytes_at_bounds(program_, buffer);
  }

  Program& program_;
  PlanEntry& entry_;
  std::map<int, Lifetime> lifetimes_;
  std::vector<Place> places_;
  std::map<int, int> place_of_;
};

/// Pairs of buffers that some step of the entry may alias.
std::set<std::pair<int, int>> alias_pairs(const PlanEntry& entry) {
  std::set<std::pair<int, int>> pairs;
  for (const Step& step : entry.steps) pairs.insert(step.may_alias.begin(), step.may_alias.end());
  return pairs;
}

void check_entry(const Program& program, const PlanEntry& entry) {
  const std::map<int, Lifetime> lives = lifetimes(program, entry.steps);
  const auto aliases = alias_pairs(entry);
  for (auto a = lives.begin(); a != lives.end(); ++a)
    for (auto b = std::next(a); b != lives.end(); ++b) {
      const Buffer &x = program.buffers[a->first], &y = program.buffers[b->first];
      const int first = std::max(a->second.first, b->second.first),
                last = std::min(a->second.last, b->second.last);
      const bool apart = x.offset_bytes + a->second.bytes <= y.offset_bytes ||
                         y.offset_bytes + b->second.bytes <= x.offset_bytes;
      // In place: the two meet in exactly the step that may alias them.
      const bool in_place =
          first == last && (aliases.count({a->first, b->first}) || aliases.count({b->first, a->first}));
      if (first <= last && !apart && !in_place)
        fail_with(Status::internal,
                  "plan_memory: @{}: buffers {} \"{}\" and {} \"{}\" overlap in steps {} to {}", entry.name,
                  a->first, x.name, b->first, y.name, first, last);
    }
}

}  // namespace

bool plan_memory(Program& program, const PlanMemoryOptions& options) {
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
