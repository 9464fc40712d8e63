// Costs of an entry's steps: bytes that are copied between host and device, and operations of matrix
// products.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/plan/plan.h"

namespace smelt {

// ---- host_traffic.cpp

/// Bytes that one run of an entry copies for states of which a part is in host memory (State::resident): `in`
/// from host memory to the device, and `out` from the device to host memory.
struct HostTraffic {
  int64_t in = 0, out = 0;
};

/// Returns the traffic at the symbols' upper bounds. `states` and `buffers` are those of the entry's plan or
/// program.
HostTraffic host_traffic(const PlanEntry& entry, std::span<const State> states,
                         std::span<const Buffer> buffers, const Symbols& symbols);

// ---- matrix_flops.cpp
// Work of the matrix products of an entry: the model FLOP in training reports.

/// Returns the number of floating-point operations of the entry's gemm steps at these sizes. A multiplication
/// and an addition count as two. Products that are recomputed to save memory (Step::recomputed) are not
/// counted. If there are several variants of the same work (Choice), the first one is counted. Products
/// within attention kernels are not counted, because these are not gemm steps. If attention is not fused,
/// masked scores are counted.
double matrix_flops(const PlanEntry& entry, const SymbolValues& sizes);

}  // namespace smelt
