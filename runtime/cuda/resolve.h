// An entry with all its sizes evaluated for one set of symbol values. On a GPU every buffer has one address
// for the life of the executor, so that a captured graph needs no new arguments.
#pragma once

#include <functional>
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
/// A product in parts by rank, which are computed as their operands arrive, or sent as they are made
/// (row_parts.h).
struct PartedGemm {
  std::vector<PreparedGemm> parts;
  CollectiveLaunch collective;
  bool makes = false;  // the parts
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
using Launch = std::variant<KernelLaunch, GemmLaunch, PartedGemm, TemplateLaunches, CopyLaunch, FillLaunch,
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

/// Device addresses that a plan's steps refer to.
struct Addresses {
  std::span<const Function> kernels;       // by kernel of the plan
  std::span<const DevicePointer> buffers;  // by buffer of the plan
  std::span<std::byte* const> host;        // of buffers of states that the host holds some of; else null
  const RandomKeys& random;
};

/// Tells which products that read or make the parts of a collective are computed in parts.
using PartsOf = std::function<Collectives::Parts(const CollectiveLaunch&)>;

/// Checks all ranges at these values. `device` is the GPU of all addresses. `dependent`: kernels that wait by
/// themselves may begin before earlier launches have ended, except the entry's first.
ResolvedEntry resolve(const Device& device, const Plan& plan, const PlanEntry& entry,
                      const SymbolValues& values, const Addresses& addresses, bool dependent,
                      const PartsOf& parts_of = {});

}  // namespace smelt::cuda
