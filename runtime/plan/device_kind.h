// The kinds of devices that plans run on, and their properties. runtime/session/executor.cpp creates an
// executor of each kind.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt {

struct DeviceKind {
  std::string_view name;        // as users give it: "cpu", "cuda"
  std::string_view prefix;      // of Plan::target
  bool own_memory = false;      // buffers are in the device's memory, and parts of states in the host's
  bool queues_runs = false;     // a run is queued: the host may start the next before it has the results
  bool captures_runs = false;   // launches are captured once per set of sizes: few sets are better
  bool step_kernels = false;    // steps such as sorts and scans are kernels of the plan (Step::kernels)
  bool measures = false;        // the first runs measure which variants of steps are the fastest
  int64_t most_exact_rows = 0;  // most rows per run with the bits that each row has alone; 0: no limit
};

/// Returns the kind of device of Plan::target: the CPU, whose executor refuses a target that it does not
/// know, unless a prefix says otherwise.
const DeviceKind& device_kind(std::string_view target);
/// The architecture's number in the target of a GPU's plan, such as 90; 0 of a CPU's.
int architecture(std::string_view target);

}  // namespace smelt
