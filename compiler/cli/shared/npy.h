// NumPy's .npy files: one dense tensor each, versions 1 to 3 of the format, little-endian and in C order.
#pragma once

#include <filesystem>

#include "runtime/base/tensor.h"

namespace smelt {

/// Throws Error (invalid_file) naming the file and what is wrong; checks every size before it allocates.
HostTensor read_npy(const std::filesystem::path& path);
/// bf16 has no spelling in the format and is refused.
void write_npy(const std::filesystem::path& path, const HostTensor& tensor);

}  // namespace smelt
