// Launches of kernels that are templates: their arguments and grids are data of the plan (TemplateLaunch).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/cuda/launch.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

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

}  // namespace smelt::cuda
