// Maps of arguments for the copy engine (TensorMap of a plan) as the driver makes them.
#pragma once

#include <string>

#include "runtime/cuda/driver.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

/// Encodes the map of the data at `address`. Throws Error with `place` if the driver refuses it.
DriverTensorMap encode(const TensorMap& map, DType dtype, DevicePointer address, const SymbolValues& values,
                       const std::string& place);

}  // namespace smelt::cuda
