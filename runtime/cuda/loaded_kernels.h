// Kernels of a plan, loaded to a device.
#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/memory.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

class LoadedKernels {
 public:
  LoadedKernels() = default;
  /// Loads the kernels, compiled again for this GPU if necessary (machine_code.h). Throws Error with the
  /// kernel's name if the driver refuses its code.
  LoadedKernels(const Plan& plan, const Device& device);

  /// Returns one function per kernel of the plan. It is null if the kernel needs instructions that this GPU
  /// lacks and the plan can run without it (MachineCode).
  std::span<const Function> functions() const { return functions_; }

 private:
  std::vector<ModuleOwner> modules_;
  std::vector<Function> functions_;
};

}  // namespace smelt::cuda
