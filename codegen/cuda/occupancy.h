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
  int registers = 0;         // per thread; 0: unknown, and not a bound
  int64_t shared_bytes = 0;  // static and dynamic
};

struct Occupancy {
  int blocks = 0;               // blocks that a multiprocessor holds concurrently
  double share = 0;             // warps of these blocks / the most warps that a multiprocessor holds
  std::string_view bound = {};  // "threads", "blocks", "registers" or "shared memory"
};

/// Returns the occupancy by the rules of the CUDA programming guide. `compute_capability`: that of the
/// device, such as 90 for sm_90.
Occupancy occupancy(const BlockNeeds& needs, const DeviceModel& device, int compute_capability);

}  // namespace smelt
