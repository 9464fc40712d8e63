// An entry with all its sizes evaluated for one set of symbol values. On a GPU every buffer has one address
// for the life of the executor, so that a captured graph needs no new arguments.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/collectives.h"
#include "runtime/cuda/gemm.h"
#include "runtime/cuda/host_copies.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/random_keys.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

struct GemmLaunch {
  PreparedGemm gemm;
};
/// The launches of a step that templates carry out, one after the other.
struct TemplateLaunches {
  std::vector<KernelLaunch> kernels;
};
struct CopyLaunch {
  DevicePointer from = 0, to = 0;
  size_t bytes = 0;
};
struct FillLaunch {
  DevicePointer to = 0;
  size_t count = 0;
  int width = 4;  // bytes of an element: 1, 2 or 4
  uint32_t pattern = 0;
};
using Launch = std::variant<KernelLaunch, GemmLaunch, TemplateLaunches, CopyLaunch, FillLaunch,
                            CollectiveLaunch, HostCopyLaunch>;

struct ResolvedEntry {
  const PlanEntry* entry = nullptr;
  SymbolValues values;
  std::vector<DevicePointer> places;  // of its ports, inputs first (CudaExecutor::run_at); empty: the host's
  std::vector<Launch> launches;       // one a step
  std::vector<int> taken;             // by choice of the entry: which alternative; -1: not known yet
  std::vector<int64_t> input_bytes, output_bytes;
  bool has_run = false;  // it has run to its end, so that every GEMM has its algorithm
  GraphOwner graph;      // once it ran uncaptured
};

/// What a plan's steps point to on the device.
struct Addresses {
  std::span<const Function> kernels;       // by kernel of the plan
  std::span<const DevicePointer> buffers;  // by buffer of the plan
  std::span<std::byte* const> host;        // of buffers of states that the host holds some of; else null
  const RandomKeys& random;
};

/// Checks all ranges at these values. `device` is where all of this lies. `dependent`: launches of kernels
/// that wait by themselves may begin before those in front of them have ended, but for the entry's first.
ResolvedEntry resolve(const Device& device, const Plan& plan, const PlanEntry& entry,
                      const SymbolValues& values, const Addresses& addresses, bool dependent);

}  // namespace smelt::cuda
