#include "runtime/plan/plan_checks.h"

#include <algorithm>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

/// Elements of a buffer that such a step uses; everything where that is not known.
struct Part {
  int buffer = -1;
  std::optional<int64_t> begin, elements;

  bool has(const BufferRef& ref) const {
    if (ref.buffer != buffer) return false;
    const auto at = ref.offset.constant();
    if (!at || !begin || !elements) return true;
    return *begin <= *at && *at - *begin < *elements;
  }
};

/// Returns the number of elements up to the last one, at the bounds; gaps between rows are included.
std::optional<int64_t> reach(const StepPlace& place, const Symbols& symbols) {
  try {
    Dim elements = 1;
    for (const Walk& walk : place.walks) {
      const int64_t extent = symbols.upper(walk.extent);
      if (extent == 0) return 0;
      elements += Dim(extent - 1) * symbols.upper(walk.stride);
    }
    return elements.constant();
  } catch (const Error&) {  // there is no bound
    return std::nullopt;
  }
}

Part part(const StepPlace& place, const Symbols& symbols) {
  return {place.ref->buffer, place.ref->offset.constant(), reach(place, symbols)};
}

/// Memory that a concurrent step reads and writes.
struct Parts {
  Part from, to;
};
Parts parts_of(const Step& step, const Symbols& symbols) {
  const std::vector<StepPlace> both = places(step);
  return {part(both.front(), symbols), part(both.back(), symbols)};
}

class WaitCheck {
 public:
  WaitCheck(const PlanEntry& entry, size_t index, const Symbols& symbols)
      : entry_(entry),
        index_(index),
        waited_at_(waited_at(entry.steps[index])),
        parts_(parts_of(entry.steps[index], symbols)) {}

  void run() const {
    const auto count = static_cast<int64_t>(entry_.steps.size());
    if (waited_at_ <= static_cast<int64_t>(index_) || waited_at_ > count)
      fail_with(Status::invalid_file, "{} is waited for at step {}: expected one behind it, up to {}",
                describe_step(entry_, index_), waited_at_, count);
    for (auto later = index_ + 1; later < static_cast<size_t>(waited_at_); ++later) check(later);
  }

 private:
  void check(size_t later) const {
    for (const StepPlace& place : places(entry_.steps[later])) {
      const bool may_write = place.writes() || place.use == PlaceUse::either;
      const bool writes = may_write && std::ranges::count(entry_.steps[later].writes, place.ref->buffer) > 0;
      if (parts_.to.has(*place.ref) || (writes && parts_.from.has(*place.ref)))
        fail_with(Status::invalid_file, "{} touches what {} works on: expected that one to be waited for",
                  describe_step(entry_, later), describe_step(entry_, index_));
    }
  }

  const PlanEntry& entry_;
  size_t index_;
  int waited_at_;
  Parts parts_;
};

}  // namespace

int waited_at(const Step& step) {
  if (const auto* copy = std::get_if<CopyStep>(&step.what)) return copy->waited_at;
  const auto* collective = std::get_if<CollectiveStep>(&step.what);
  return collective ? collective->waited_at : -1;
}

void check_waits(const PlanEntry& entry, const Symbols& symbols) {
  for (size_t i = 0; i < entry.steps.size(); ++i)
    if (waited_at(entry.steps[i]) >= 0) WaitCheck(entry, i, symbols).run();
}

}  // namespace smelt
