// Occupancy: the number of blocks of a kernel that a multiprocessor of a GPU can hold concurrently, and the
// resource that bounds it.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/cuda/device_model.h"

namespace smelt {

/// The resources that a block needs.
struct BlockNeeds {
  int threads = 0;
  int registers = 0;         // of a thread
  int64_t shared_bytes = 0;  // all of it
};

struct Occupancy {
  int blocks = 0;               // that a multiprocessor holds
  double share = 0;             // their threads, of the most that it holds
  std::string_view bound = {};  // "threads", "blocks", "registers" or "shared memory"
};

/// Computes the occupancy by the rules of the CUDA programming guide; `compute_capability`: of the device,
/// such as 90.
Occupancy occupancy(const BlockNeeds& needs, const DeviceModel& device, int compute_capability);

}  // namespace smelt
