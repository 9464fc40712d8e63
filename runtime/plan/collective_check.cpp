#include "runtime/plan/collective_check.h"

#include <algorithm>
#include <optional>

#include "runtime/error.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

/// Elements of a buffer that a collective uses; everything where that is not fixed.
struct Part {
  int buffer;
  std::optional<int64_t> begin, elements;

  bool has(const BufferRef& ref) const {
    if (ref.buffer != buffer) return false;
    const auto at = ref.offset.constant();
    if (!at || !begin || !elements) return true;
    return *begin <= *at && *at - *begin < *elements;
  }
};

Part part(const BufferRef& ref, const Dim& elements) {
  return {ref.buffer, ref.offset.constant(), elements.constant()};
}

class WaitCheck {
 public:
  WaitCheck(const PlanEntry& entry, size_t index, const CollectiveStep& step)
      : entry_(entry),
        index_(index),
        step_(step),
        from_(part(step.from, step.from_elements())),
        to_(part(step.to, step.to_elements())) {}

  void run() const {
    const auto count = static_cast<int64_t>(entry_.steps.size());
    if (step_.waited_at <= static_cast<int64_t>(index_) || step_.waited_at > count)
      fail_with(Status::invalid_file, "{} is waited for at step {}: expected one behind it, up to {}",
                describe_step(entry_, index_), step_.waited_at, count);
    for (auto later = index_ + 1; later < static_cast<size_t>(step_.waited_at); ++later) check(later);
  }

 private:
  void check(size_t later) const {
    for (const StepPlace& place : places(entry_.steps[later])) {
      const bool may_write = place.writes() || place.use == PlaceUse::either;
      const bool writes = may_write && std::ranges::count(entry_.steps[later].writes, place.ref->buffer) > 0;
      if (to_.has(*place.ref) || (writes && from_.has(*place.ref)))
        fail_with(Status::invalid_file, "{} touches what {} works on: expected that one to be waited for",
                  describe_step(entry_, later), describe_step(entry_, index_));
    }
  }

  const PlanEntry& entry_;
  size_t index_;
  const CollectiveStep& step_;
  Part from_, to_;
};

}  // namespace

void check_waits(const PlanEntry& entry) {
  for (size_t i = 0; i < entry.steps.size(); ++i)
    if (const auto* step = std::get_if<CollectiveStep>(&entry.steps[i].what); step && step->waited_at >= 0)
      WaitCheck(entry, i, *step).run();
}

}  // namespace smelt
