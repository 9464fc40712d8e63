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
  /// Loads the kernels. A kernel whose machine code does not run on this GPU is compiled again first
  /// (machine_code.h). Throws Error with the kernel's name if the driver does not accept its code.
  LoadedKernels(const Plan& plan, const Device& device);

  /// Returns one function per kernel of the plan. A function is null if this GPU lacks instructions of the
  /// kernel. This is allowed only for kernels without which the plan can run (MachineCode).
  std::span<const Function> functions() const { return functions_; }

 private:
  std::vector<ModuleOwner> modules_;
  std::vector<Function> functions_;
};

}  // namespace smelt::cuda
