#pragma once

#include <cstdint>
#include <span>

#include "runtime/plan/plan.h"

namespace smelt {

/// Bytes that one run of an entry copies from and to the host's part of states (State::resident).
struct HostTraffic {
  int64_t in = 0, out = 0;
};

/// Returns the traffic at the bounds; `states` and `buffers` are those of the entry's plan or program.
HostTraffic host_traffic(const PlanEntry& entry, std::span<const State> states,
                         std::span<const Buffer> buffers, const Symbols& symbols);

}  // namespace smelt
