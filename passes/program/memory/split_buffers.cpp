#include "passes/program/memory/memory_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ir/analysis/step_footprint.h"
#include "ir/analysis/step_refs.h"
#include "passes/program/memory/lifetimes.h"

namespace smelt {
namespace {

/// Elements [begin, end) of a buffer that some steps touch and no other step reaches out of.
struct Stretch {
  int64_t begin, end;
  int buffer = -1;  // that it becomes
};

class Splitting {
 public:
  Splitting(Program& program, PlanEntry& entry) : program_(program), entry_(entry) {}

  bool run() {
    find_candidates();
    if (stretches_.empty()) return false;
    for (const Step& step : entry_.steps) note(step);
    for (auto& [buffer, stretches] : stretches_) join(stretches);
    std::erase_if(stretches_, [](const auto& item) { return item.second.size() < 2; });
    for (auto& [buffer, stretches] : stretches_) make_buffers(buffer, stretches);
    for (Step& step : entry_.steps) rewrite(step);
    for (const auto& [buffer, stretches] : stretches_)
      program_.buffers[static_cast<size_t>(buffer)].elements = 0;
    return !stretches_.empty();
  }

 private:
  void find_candidates() {
    for (const Step& step : entry_.steps) {
      const auto* collective = std::get_if<CollectiveStep>(&step.what);
      if (!collective) continue;
      if (collective->kind == CollectiveKind::all_gather)
        add_candidate(collective->to.buffer), gathered_.insert(collective->to.buffer);
      if (collective->kind == CollectiveKind::reduce_scatter) add_candidate(collective->from.buffer);
    }
    for (const Step& step : entry_.steps)
      for (const auto& [written, read] : step.may_alias) stretches_.erase(written), stretches_.erase(read);
  }

  void add_candidate(int number) {
    const Buffer& buffer = program_.buffers[static_cast<size_t>(number)];
    if (in_arena(buffer) && buffer.elements.constant()) stretches_.try_emplace(number);
  }

  /// Records the elements that the step touches. If it refers to a position outside them, from which it
  /// counts, all elements that it touches in the buffer stay together.
  void note(const Step& step) {
    std::map<int, std::vector<Stretch>> touched;
    for (const Touch& touch : footprint(program_, step))
      if (stretches_.contains(touch.memory)) {
        const int64_t size = *program_.buffers[static_cast<size_t>(touch.memory)].elements.constant();
        touched[touch.memory].push_back({touch.begin, std::min(touch.end, size)});
      }
    for (auto& [buffer, parts] : touched) {
      if (!begins_at_places(step, buffer, parts)) parts = {hull(step, buffer, parts)};
      stretches_.at(buffer).insert(stretches_.at(buffer).end(), parts.begin(), parts.end());
    }
  }

  static std::set<int64_t> places(const Step& step, int buffer) {
    std::set<int64_t> result;
    for_each_ref(const_cast<Step&>(step), [&](const BufferRef& ref) {
      if (ref.buffer == buffer) result.insert(ref.offset.constant().value_or(0));
    });
    return result;
  }

  static bool begins_at_places(const Step& step, int buffer, const std::vector<Stretch>& parts) {
    std::set<int64_t> begins;
    for (const Stretch& part : parts)
      if (part.begin < part.end) begins.insert(part.begin);
    return begins == places(step, buffer);
  }

  static Stretch hull(const Step& step, int buffer, const std::vector<Stretch>& parts) {
    Stretch all = parts.front();
    for (const Stretch& part : parts) all = {std::min(all.begin, part.begin), std::max(all.end, part.end)};
    for (const int64_t place : places(step, buffer))
      all = {std::min(all.begin, place), std::max(all.end, place + 1)};
    return all;
  }

  /// Those that share an element become one.
  static void join(std::vector<Stretch>& stretches) {
    std::ranges::sort(stretches, {}, &Stretch::begin);
    std::vector<Stretch> joined;
    for (const Stretch& next : stretches) {
      if (next.begin >= next.end) continue;
      if (joined.empty() || joined.back().end <= next.begin)
        joined.push_back(next);
      else
        joined.back().end = std::max(joined.back().end, next.end);
    }
    stretches = std::move(joined);
  }

  void make_buffers(int whole, std::vector<Stretch>& stretches) {
    for (Stretch& stretch : stretches) {
      Buffer buffer = program_.buffers[static_cast<size_t>(whole)];
      buffer.elements = stretch.end - stretch.begin;
      stretch.buffer = static_cast<int>(program_.buffers.size());
      program_.buffers.push_back(std::move(buffer));
    }
  }

  /// The one that has the element.
  const Stretch& at(int buffer, int64_t element) const {
    const std::vector<Stretch>& stretches = stretches_.at(buffer);
    return *std::prev(std::ranges::upper_bound(stretches, element, {}, &Stretch::begin));
  }

  void rewrite(Step& step) {
    const Footprint touches = footprint(program_, step);
    rewrite(step.reads, touches, false), rewrite(step.writes, touches, true);
    for_each_ref(step, [&](BufferRef& ref) {
      if (!stretches_.contains(ref.buffer)) return;
      const Stretch& stretch = at(ref.buffer, *ref.offset.constant());
      name(step, ref.buffer, stretch.buffer);
      ref = {stretch.buffer, ref.offset - stretch.begin};
    });
  }

  /// Names a stretch after the first computing step that uses it, and by whether it is gathered or summed.
  void name(const Step& step, int whole, int stretch) {
    const bool works = !std::holds_alternative<CollectiveStep>(step.what) && !step.sources.empty();
    if (works && named_.insert(stretch).second)
      program_.buffers[static_cast<size_t>(stretch)].name = fmt::format(
          "{} ({})", step.sources.front(), gathered_.contains(whole) ? "gathered" : "to be summed");
  }

  void rewrite(std::vector<int>& buffers, const Footprint& touches, bool written) const {
    if (std::ranges::none_of(buffers, [&](int buffer) { return stretches_.contains(buffer); })) return;
    std::set<int> all;
    for (const int buffer : buffers)
      if (!stretches_.contains(buffer)) all.insert(buffer);
    for (const Touch& touch : touches)
      if (touch.written == written && stretches_.contains(touch.memory) && touch.begin < touch.end)
        all.insert(at(touch.memory, touch.begin).buffer);
    buffers.assign(all.begin(), all.end());
  }

  Program& program_;
  PlanEntry& entry_;
  std::set<int> gathered_, named_;
  std::map<int, std::vector<Stretch>> stretches_;  // by buffer; in order, once all are known
};

}  // namespace

bool split_buffers(Program& program) {
  if (program.mesh.empty()) return false;
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= Splitting(program, entry).run();
  return changed;
}

}  // namespace smelt
