// Source of the floats of packed numbers.
#pragma once

#include <memory>
#include <string>

#include "runtime/engine/weights/stored_rows.h"

namespace smelt {

/// Returns the tensor [rows, columns] of the numbers. Requires: the views of `numbers` have all elements that
/// its sizes and strides name, and `groups` only existing groups.
TensorView scaled_tensor(std::string name, PackedNumbers numbers);

/// Returns the tensor of floats of 8 bits (E4M3) without scales, in any shape.
TensorView float8_tensor(std::string name, std::vector<int64_t> shape, std::span<const std::byte> bytes);

}  // namespace smelt
