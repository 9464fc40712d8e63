// The files of codegen/hip/device/ as strings, without the comments at their beginning. A constant is named
// after its file, as in codegen/cuda/device_text.h.
#pragma once

#include <string_view>

namespace smelt::hip_device {

extern const std::string_view kPreludeFunctions, kPreludeMemory, kPreludeThreads;

}  // namespace smelt::hip_device
