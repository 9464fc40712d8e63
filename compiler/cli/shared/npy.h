// NumPy's .npy files, each of which contains one dense tensor, little-endian and in C order.
#pragma once

#include <filesystem>

#include "runtime/base/tensor.h"

namespace smelt {

/// Reads a file of format version 1 to 3. The tensor's name is the file's name without its extension. Throws
/// Error (invalid_file) with the file and the fault; checks every size before it allocates.
HostTensor read_npy(const std::filesystem::path& path);
/// Writes a file of format version 1. Throws Error for bf16, which the format cannot express.
void write_npy(const std::filesystem::path& path, const HostTensor& tensor);

}  // namespace smelt
