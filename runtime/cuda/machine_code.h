// Machine code of a plan's kernels for a given GPU: the plan's own, or compiled again from its sources.
#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

/// One cubin a kernel of the plan; they point into the plan or into `made`. It is empty for kernels that this
/// GPU has not the instructions of, and that only some alternatives of a choice run.
struct MachineCode {
  std::vector<std::span<const std::byte>> cubins;
  std::vector<Cubin> made;
};

/// A plan for another architecture is compiled again by NVRTC. Throws Error (unavailable) with both
/// architectures if that is not possible; Error (invalid_file) for a kernel without code in the plan.
MachineCode machine_code(const Plan& plan, const DeviceInfo& device, const NvrtcInfo& nvrtc = nvrtc_info());

}  // namespace smelt::cuda
