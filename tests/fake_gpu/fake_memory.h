// Memory of the fake GPUs (fake_gpu.h), for the functions of the fake driver.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/cuda/driver.h"

namespace smelt::fake {

/// Returns whether the address is in the memory of the current device, or, with `or_opened`, in memory of
/// another device that the current device has opened.
bool is_here(cuda::DevicePointer address, bool or_opened = false);
/// Returns the word at an address, for which streams may wait. Requires: is_here(address, true).
std::atomic_ref<uint32_t> word(cuda::DevicePointer address);

}  // namespace smelt::fake
