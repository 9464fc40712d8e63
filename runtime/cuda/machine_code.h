// Machine code of a plan's kernels for a given GPU: what the plan holds, or made again from its sources.
#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

/// One cubin a kernel of the plan; they point into the plan or into `made`.
struct MachineCode {
  std::vector<std::span<const std::byte>> cubins;
  std::vector<Cubin> made;
};

/// A plan for another architecture is compiled again by NVRTC. Throws Error (unavailable) where that cannot
/// be, with both architectures; Error (invalid_file) for a kernel that the plan has no code of.
MachineCode machine_code(const Plan& plan, const DeviceInfo& device, const NvrtcInfo& nvrtc = nvrtc_info());

}  // namespace smelt::cuda
