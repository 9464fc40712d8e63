#include "runtime/plan/plan_costs.h"

namespace smelt {

HostTraffic host_traffic(const PlanEntry& entry, std::span<const State> states,
                         std::span<const Buffer> buffers, const Symbols& symbols) {
  const auto is_held = [&](const BufferRef& ref) {
    const int state = buffers[static_cast<size_t>(ref.buffer)].state;
    const int64_t resident = state < 0 ? -1 : states[static_cast<size_t>(state)].resident;
    return ref.offset.constant().value_or(0) < resident;
  };
  HostTraffic traffic;
  for (const Step& step : entry.steps) {
    const auto* copy = std::get_if<CopyStep>(&step.what);
    if (!copy) continue;
    const int64_t bytes = symbols.upper(element_count(copy->extents)) * size_of(copy->dtype);
    if (is_held(copy->from)) traffic.in += bytes;
    if (is_held(copy->to)) traffic.out += bytes;
  }
  return traffic;
}

}  // namespace smelt
