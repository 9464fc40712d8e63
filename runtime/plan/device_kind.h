// The kinds of devices that plans run on, and their properties. runtime/session/executor.cpp creates an
// executor of each kind.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt {

/// Properties of a kind of device that the runtime and the compiler take into account.
struct DeviceKind {
  std::string_view name;       // as in options: "cpu", "cuda"
  std::string_view prefix;     // of Plan::target
  bool own_memory = false;     // buffers are in device memory; parts of states may be in host memory
  bool queues_runs = false;    // the host may start the next run before it has the results of this one
  bool captures_runs = false;  // launches are captured as a graph, anew for each set of values of the symbols
  bool step_kernels = false;   // steps such as sorts and scans need kernels in the plan (Step::kernels)
  bool measures = false;       // the first runs measure which variants of steps are the fastest
  /// The largest number of rows per run for which each row has the same bits as if it ran alone. 0: no
  /// limit.
  int64_t most_exact_rows = 0;
};

/// Returns the device kind whose prefix the target (Plan::target) has; the CPU if there is none, because the
/// CPU's executor reports unknown targets.
const DeviceKind& device_kind(std::string_view target);
/// Returns the number of the architecture in the target of a GPU's plan, such as 90; 0 for a CPU's plan.
int architecture(std::string_view target);

}  // namespace smelt
