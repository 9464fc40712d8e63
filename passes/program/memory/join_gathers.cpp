#include "passes/program/memory/memory_passes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "ir/analysis/step_footprint.h"
#include "ir/analysis/step_refs.h"
#include "passes/program/memory/lifetimes.h"

namespace smelt {
namespace {

/// Gathers are joined where at most one of `kNextToNothing` gathered bytes is read between the two.
constexpr int64_t kNextToNothing = 8;

/// From where to where, of how much, along which axis.
using Key = std::tuple<int, int64_t, int64_t, int64_t, std::string>;

struct Gather {
  Key key;
  int64_t begin, end, bytes;  // elements of the buffer
  int step;
  std::vector<int> reads = {};  // steps
};

/// A buffer of the arena that gathers alone write to.
struct Gathered {
  std::vector<Gather> gathers;  // by their keys

  std::vector<Key> keys() const {
    std::vector<Key> result;
    for (const Gather& gather : gathers) result.push_back(gather.key);
    return result;
  }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const Gather& gather : gathers) sum += gather.bytes;
    return sum;
  }
};

class Joining {
 public:
  Joining(Program& program, PlanEntry& entry) : program_(program), entry_(entry) {}

  bool run() {
    find();
    std::map<std::vector<Key>, int> by_keys;
    std::map<int, int> joined;  // the later, the earlier
    for (const int number : in_order()) {
      const auto [earlier, is_first] = by_keys.try_emplace(gathered_.at(number).keys(), number);
      if (!is_first && may_join(earlier->second, number)) joined[number] = earlier->second;
    }
    for (const auto& [later, earlier] : joined) join(later, earlier);
    return !joined.empty();
  }

 private:
  void find() {
    std::set<int> written;  // otherwise
    for (size_t i = 0; i < entry_.steps.size(); ++i) {
      const Step& step = entry_.steps[i];
      if (is_gather(step))
        note(std::get<CollectiveStep>(step.what), static_cast<int>(i));
      else
        written.insert(step.writes.begin(), step.writes.end());
    }
    std::erase_if(gathered_, [&](const auto& item) { return written.contains(item.first); });
    for (auto& [number, gathered] : gathered_) std::ranges::sort(gathered.gathers, {}, &Gather::key);
    for (size_t i = 0; i < entry_.steps.size(); ++i) note_reads(static_cast<int>(i));
  }

  bool is_gather(const Step& step) const {
    const auto* collective = std::get_if<CollectiveStep>(&step.what);
    return collective && step.choice < 0 && collective->kind == CollectiveKind::all_gather &&
           collective->rows.is_one() && collective->to_elements().constant() &&
           collective->from.offset.constant() && collective->to.offset.constant() &&
           buffer(collective->from.buffer).state >= 0 && in_arena(buffer(collective->to.buffer));
  }

  void note(const CollectiveStep& step, int index) {
    const int64_t begin = *step.to.offset.constant(), count = *step.to_elements().constant();
    const Key key = {step.from.buffer, *step.from.offset.constant(), begin, count, step.axis};
    gathered_[step.to.buffer].gathers.push_back(
        {key, begin, begin + count, count * size_of(step.dtype), index});
  }

  void note_reads(int index) {
    for (const Touch& touch : footprint(program_, entry_.steps[static_cast<size_t>(index)])) {
      const auto found = gathered_.find(touch.memory);
      if (touch.written || found == gathered_.end()) continue;
      for (Gather& gather : found->second.gathers)
        if (touch.begin < gather.end && gather.begin < touch.end) gather.reads.push_back(index);
    }
  }

  std::vector<int> in_order() const {
    std::vector<int> numbers;
    for (const auto& [number, gathered] : gathered_) numbers.push_back(number);
    std::ranges::sort(numbers, {}, [&](int number) { return gathered_.at(number).gathers.front().step; });
    return numbers;
  }

  bool may_join(int earlier, int later) const {
    const Gathered &a = gathered_.at(earlier), &b = gathered_.at(later);
    if (buffer(earlier).elements != buffer(later).elements || is_written(a, b)) return false;
    const int64_t most = b.bytes() / kNextToNothing;
    for (size_t i = 0; i < a.gathers.size(); ++i) {
      const std::vector<int>&reads = a.gathers[i].reads, &again = b.gathers[i].reads;
      if (reads.empty() || again.empty() || reads.back() >= again.front()) return false;
      if (read_between(reads.back(), again.front()) > most) return false;
    }
    return true;
  }

  /// Any state that is gathered from, between the two.
  bool is_written(const Gathered& a, const Gathered& b) const {
    std::set<int> states;
    int first = std::numeric_limits<int>::max(), last = 0;
    for (const Gathered* both : {&a, &b})
      for (const Gather& gather : both->gathers) {
        states.insert(buffer(std::get<0>(gather.key)).state);
        first = std::min(first, gather.step), last = std::max(last, gather.step);
      }
    for (int i = first; i < last; ++i)
      for (const int number : entry_.steps[static_cast<size_t>(i)].writes)
        if (states.contains(buffer(number).state)) return true;
    return false;
  }

  /// Bytes of what is gathered that steps between the two read.
  int64_t read_between(int begin, int end) const {
    int64_t bytes = 0;
    for (const auto& [number, gathered] : gathered_)
      for (const Gather& gather : gathered.gathers) {
        const auto next = std::ranges::upper_bound(gather.reads, begin);
        if (next != gather.reads.end() && *next < end) bytes += gather.bytes;
      }
    return bytes;
  }

  void join(int later, int earlier) {
    std::erase_if(entry_.steps, [&](const Step& step) {
      return is_gather(step) && std::get<CollectiveStep>(step.what).to.buffer == later;
    });
    for (Step& step : entry_.steps) replace_buffer(step, later, earlier);
    program_.buffers[static_cast<size_t>(later)].elements = 0;  // nothing uses it any more
  }

  const Buffer& buffer(int number) const { return program_.buffers[static_cast<size_t>(number)]; }

  Program& program_;
  PlanEntry& entry_;
  std::map<int, Gathered> gathered_;  // by buffer
};

}  // namespace

bool join_gathers(Program& program) {
  bool changed = false;
  if (program.mesh.empty()) return changed;
  for (PlanEntry& entry : program.entries) changed |= Joining(program, entry).run();
  return changed;
}

}  // namespace smelt
