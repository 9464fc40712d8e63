// Launches of template kernels, and their tensor maps.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/launch.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

// ---- template_launch.cpp
// Launches of kernels that are templates: their arguments and grids are data of the plan (TemplateLaunch).

/// The values of the names in a template's launch.
struct LaunchValues {
  std::map<std::string, DevicePointer, std::less<>> addresses = {};
  SymbolValues integers = {};
  std::map<std::string, double, std::less<>> reals = {};
};

/// Empty if a condition of the kernel does not hold. Throws Error (invalid_file) for a name that has no value
/// and for a grid that is too large.
std::optional<KernelLaunch> launch_of(const KernelCode& kernel, Function function,
                                      const LaunchValues& values);

// ---- tensor_maps.cpp
// Maps of arguments for the copy engine (TensorMap of a plan) as the driver makes them.

/// Encodes the map of the data at `address`. Throws Error with `place` if the driver refuses it.
DriverTensorMap encode(const TensorMap& map, DType dtype, DevicePointer address, const SymbolValues& values,
                       const std::string& place);

}  // namespace smelt::cuda
