#include "passes/program/sharding/bucket_collectives.h"

#include <algorithm>

#include "ir/analysis/step_footprint.h"
#include "ir/analysis/step_refs.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

class Bucketing {
 public:
  Bucketing(Program& program, PlanEntry& entry, int64_t bytes)
      : program_(program), entry_(entry), bytes_(bytes) {}

  bool run() {
    for (size_t i = 0; i < entry_.steps.size(); ++i)
      if (is_fixed_sum(entry_.steps[i]) && make_in_place(i)) part(i);
    return changed_;
  }

 private:
  Buffer& buffer(const BufferRef& ref) { return program_.buffers[static_cast<size_t>(ref.buffer)]; }

  static bool is_fixed_sum(const Step& step) {
    const auto* sum = std::get_if<CollectiveStep>(&step.what);
    return sum && sum->kind == CollectiveKind::all_reduce && sum->elements.constant() &&
           sum->from.offset.constant() && sum->rows.is_one();
  }

  void part(size_t index) {
    if (bytes_ <= 0) return;
    const Step whole = entry_.steps[index];
    const std::vector<int64_t> begins = cuts(index, std::get<CollectiveStep>(whole.what));
    std::vector<Step> parts;
    for (size_t i = 0; i + 1 < begins.size(); ++i)
      parts.push_back(part_of(whole, begins[i], begins[i + 1] - begins[i]));
    const auto at = entry_.steps.begin() + static_cast<std::ptrdiff_t>(index);
    entry_.steps.insert(entry_.steps.erase(at), parts.begin(), parts.end());
    changed_ |= parts.size() > 1;
  }

  /// Makes the sum in place if its operand is not used later; returns whether it is in place.
  bool make_in_place(size_t index) {
    const auto sum = std::get<CollectiveStep>(entry_.steps[index].what);
    if (sum.from == sum.to) return true;
    const auto& aliases = entry_.steps[index].may_alias;
    const bool may = std::ranges::count(aliases, std::pair(sum.to.buffer, sum.from.buffer)) > 0;
    const bool alike = in_arena(buffer(sum.from).role) && in_arena(buffer(sum.to).role) &&
                       sum.from.offset == sum.to.offset &&
                       buffer(sum.from).elements == buffer(sum.to).elements;
    if (!may || !alike || is_used(sum.from.buffer, index + 1, entry_.steps.size()) ||
        is_used(sum.to.buffer, 0, index))
      return false;
    const int from = sum.from.buffer, to = sum.to.buffer;
    for (Step& step : entry_.steps) replace_buffer(step, to, from);
    for (Port& port : entry_.outputs)
      if (port.buffer == to) port.buffer = from;
    buffer(sum.to).elements = 0;  // nothing uses it any more
    return changed_ = true;
  }

  bool is_used(int number, size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i)
      for (const auto* list : {&entry_.steps[i].reads, &entry_.steps[i].writes})
        if (std::ranges::count(*list, number) > 0) return true;
    return false;
  }

  /// Returns the begins of parts, relative to that of the sum, and its end.
  std::vector<int64_t> cuts(size_t index, const CollectiveStep& sum) const {
    const int64_t count = *sum.elements.constant(), least = std::max<int64_t>(1, bytes_ / size_of(sum.dtype));
    std::vector<int64_t> result = {0};
    for (const int64_t border : borders(index, sum))
      if (border - result.back() >= least && count - border >= least) result.push_back(border);
    result.push_back(count);
    return result;
  }

  /// In order, where earlier steps begin or end to write, inside of what is summed.
  std::vector<int64_t> borders(size_t index, const CollectiveStep& sum) const {
    const int64_t begin = *sum.from.offset.constant(), count = *sum.elements.constant();
    std::vector<int64_t> result;
    for (size_t i = 0; i < index; ++i)
      for (const Touch& touch : footprint(program_, entry_.steps[i]))
        if (touch.written && touch.memory == sum.from.buffer)
          for (const int64_t at : {touch.begin - begin, touch.end - begin})
            if (at > 0 && at < count && at % kAligned == 0) result.push_back(at);
    std::ranges::sort(result);
    result.erase(std::ranges::unique(result).begin(), result.end());
    return result;
  }

  static Step part_of(const Step& whole, int64_t begin, int64_t elements) {
    Step part = whole;
    auto& sum = std::get<CollectiveStep>(part.what);
    sum.from.offset = sum.to.offset = sum.from.offset + begin;
    sum.elements = elements;
    return part;
  }

  /// Elements: parts begin where whole vectors do.
  static constexpr int64_t kAligned = 16;

  Program& program_;
  PlanEntry& entry_;
  int64_t bytes_;
  bool changed_ = false;
};

}  // namespace

bool bucket_collectives(Program& program, const BucketCollectivesOptions& options) {
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= Bucketing(program, entry, options.bytes).run();
  return changed;
}

}  // namespace smelt
