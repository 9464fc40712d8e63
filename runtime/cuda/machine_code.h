// Machine code of a plan's kernels for a given GPU: from the plan, or compiled again from its CUDA C++
// sources.
#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

/// Machine code of all kernels: `cubins` has one cubin per kernel of the plan, in the memory of the plan or
/// of `made`. A cubin is empty if its kernel needs instructions that this GPU lacks, and the plan can run
/// without the kernel: every step that runs the kernel has an alternative without such kernels (Choice in
/// runtime/plan/plan.h).
struct MachineCode {
  std::vector<std::span<const std::byte>> cubins;
  std::vector<Cubin> made;
};

/// Returns the plan's machine code if it runs on the GPU. Otherwise the kernels are compiled again by NVRTC;
/// if that is not possible, throws Error (unavailable) naming the plan's architecture and that of the GPU.
/// Throws Error (invalid_file) if the plan is for an architecture that runs on the GPU, but has no machine
/// code for one of its kernels.
MachineCode machine_code(const Plan& plan, const DeviceInfo& device, const NvrtcInfo& nvrtc = nvrtc_info());

}  // namespace smelt::cuda
