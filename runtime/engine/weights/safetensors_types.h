// Names of element types in safetensors files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

std::optional<DType> safetensors_dtype(std::string_view name);
std::string_view safetensors_name(DType dtype);
std::string safetensors_dtype_names();  // "F32, F16, ..."

}  // namespace smelt
