// What the fake driver's functions know of its memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/cuda/driver.h"

namespace smelt::fake {

/// Whether there is such memory on the current device, or, with `or_opened`, in a block of another that it
/// has opened.
bool is_here(cuda::DevicePointer address, bool or_opened = false);
/// One that streams may wait for.
std::atomic_ref<uint32_t> word(cuda::DevicePointer address);

}  // namespace smelt::fake
