// Names of element types in safetensors files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

/// Name of floats of 8 bits, which are no DType: their tensors have a source (stored_rows.h).
inline constexpr std::string_view kFloat8Name = "F8_E4M3";

/// Returns the type for a name such as "BF16"; nothing if Smelt does not support the type.
std::optional<DType> safetensors_dtype(std::string_view name);
std::string_view safetensors_name(DType dtype);
/// Returns the names of all supported types for messages: "F32, F16, ...".
std::string safetensors_dtype_names();

}  // namespace smelt
