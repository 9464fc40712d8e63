// Launches of template kernels, and tensor maps of kernels.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/launch.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

// ---- template_launch.cpp
// Launches of template kernels, which are written by hand. The plan specifies their arguments and grids as
// expressions (TemplateLaunch).

/// Values of the names that occur in the expressions of a TemplateLaunch.
struct LaunchValues {
  std::map<std::string, DevicePointer, std::less<>> addresses = {};
  SymbolValues integers = {};
  std::map<std::string, double, std::less<>> reals = {};
};

/// Returns the launch of the kernel with these values. Returns nothing if a condition of the kernel does not
/// hold, or if an address is not aligned as the kernel requires. Throws Error (invalid_file) for a name that
/// has no value and for a grid of more than 2^31 - 1 blocks.
std::optional<KernelLaunch> launch_of(const KernelCode& kernel, Function function,
                                      const LaunchValues& values);

// ---- tensor_maps.cpp
// Tensor maps: descriptions of arrays for the Tensor Memory Accelerator (TMA) of a GPU.

/// Returns the driver's form of a plan's tensor map for the array of `dtype` at `address`. Throws Error with
/// `place`, a description of the step, if the driver refuses it.
DriverTensorMap encode(const TensorMap& map, DType dtype, DevicePointer address, const SymbolValues& values,
                       const std::string& place);

}  // namespace smelt::cuda
