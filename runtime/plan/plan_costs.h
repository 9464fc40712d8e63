// Bytes and operations of a plan's steps.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/plan/plan.h"

namespace smelt {

// ---- host_traffic.cpp

/// Bytes that one run of an entry copies from and to the host's part of states (State::resident).
struct HostTraffic {
  int64_t in = 0, out = 0;
};

/// Returns the traffic at the bounds; `states` and `buffers` are those of the entry's plan or program.
HostTraffic host_traffic(const PlanEntry& entry, std::span<const State> states,
                         std::span<const Buffer> buffers, const Symbols& symbols);

// ---- matrix_flops.cpp
// Work of the matrix products of an entry: the model FLOP in training reports.

/// Floating-point operations of the entry's gemm steps at these sizes, a multiplication and an addition as
/// two. For a training step these are the gemm steps of forward and backward, without those that are
/// recomputed to save memory (Step::recomputed). Attention kernels are not gemm steps, so their products are
/// not counted. If attention is not fused, masked scores are counted.
double matrix_flops(const PlanEntry& entry, const SymbolValues& sizes);

}  // namespace smelt
