// The files of codegen/printers/device/ as strings, without the comments at their beginning: code of devices
// that is the same in every language of GPUs. A constant is named after its file, as in
// codegen/cuda/device_text.h.
#pragma once

#include <string_view>

namespace smelt::shared_device {

extern const std::string_view kLastBlock;
extern const std::string_view kPreludeFunctions, kPreludeMemory;

}  // namespace smelt::shared_device
