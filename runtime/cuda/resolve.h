// Resolution of an entry: all sizes are evaluated for one set of symbol values, and all steps become launches
// with addresses. On a GPU every buffer keeps its address as long as the executor lives, so that a captured
// graph needs no new arguments.
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

/// A matmul that is computed as a whole.
struct GemmLaunch {
  PreparedGemm gemm;
};
/// A matmul before or after a collective, computed in parts, one for the rows of each rank (row_parts.h). If
/// the matmul reads the result of a gather or an exchange, the part of a rank is computed when the data of
/// this rank have arrived. If an exchange sends the matmul's result, a part is sent when it has been
/// computed.
struct PartedGemm {
  std::vector<PreparedGemm> parts;  // by rank
  CollectiveLaunch collective;
  bool makes = false;  // true: the collective sends the matmul's result; false: it brings an operand
};
/// Launches of a step that is executed by template kernels (TemplateLaunch in plan.h), in order.
struct TemplateLaunches {
  std::vector<KernelLaunch> kernels;
};
struct CopyLaunch {
  DevicePointer from = 0, to = 0;
  size_t bytes = 0;
};
/// Writes `count` elements with the bits of `pattern`, from address `to` on.
struct FillLaunch {
  DevicePointer to = 0;
  size_t count = 0;
  int width = 4;  // bytes of an element: 1, 2 or 4
  uint32_t pattern = 0;
};
using Launch = std::variant<KernelLaunch, GemmLaunch, PartedGemm, TemplateLaunches, CopyLaunch, FillLaunch,
                            CollectiveLaunch, HostCopyLaunch>;

/// An entry with the values of its symbols, and the launches of its steps.
struct ResolvedEntry {
  const PlanEntry* entry = nullptr;
  SymbolValues values;
  /// Address of each port (the inputs, then the outputs) that the caller has in device memory; 0: the port is
  /// copied. An empty list: all ports are copied.
  std::vector<DevicePointer> places;
  std::vector<Launch> launches;  // by step
  /// For each choice (Choice in plan.h), the number of the alternative that runs; -1: not chosen yet.
  std::vector<int> taken;
  std::vector<int64_t> input_bytes, output_bytes;  // by port; 0: not copied, because it has a place
  bool has_run = false;                            // has run once, so that every GEMM has its algorithm
  GraphOwner graph;                                // empty until the second run
};

/// Kernels and addresses to which a plan's steps refer. A function is null if this GPU cannot run the kernel.
struct Addresses {
  std::span<const Function> kernels;       // by kernel of the plan
  std::span<const DevicePointer> buffers;  // by buffer of the plan
  std::span<std::byte* const> host;        // by buffer; null unless the host holds a part of the state
  const RandomKeys& random;
};

/// Function that returns two facts about a collective (Collectives::parts). The first is whether the matmul
/// before or after the collective is computed in parts (PartedGemm). The second is the number of this rank
/// along the collective's mesh axis.
using PartsOf = std::function<Collectives::Parts(const CollectiveLaunch&)>;

/// Resolves the entry. `device` is the GPU of all addresses. `dependent`: kernels that wait for earlier
/// launches by themselves may begin before these have ended (programmatic dependent launch). Two kinds of
/// kernels never begin early: the first kernel of the entry, and the first one after a wait for a collective
/// or for a copy between host and device. Without `parts_of`, no matmul is computed in parts. Throws Error if
/// the values violate the plan's rules for its symbols, or if a step would access memory out of range.
ResolvedEntry resolve(const Device& device, const Plan& plan, const PlanEntry& entry,
                      const SymbolValues& values, const Addresses& addresses, bool dependent,
                      const PartsOf& parts_of = {});

}  // namespace smelt::cuda
