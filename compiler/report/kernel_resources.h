// Resources that a thread block of a GPU kernel needs, and the number of blocks that fit on a multiprocessor.
#pragma once

#include <optional>

#include "codegen/cuda/cubin_resources.h"
#include "codegen/cuda/occupancy.h"
#include "ir/target.h"
#include "runtime/plan/plan.h"

namespace smelt {

struct KernelResources {
  CubinResources code;
  int threads = 0;                  // of a block
  int64_t launch_shared_bytes = 0;  // dynamic shared memory of a block, which a launch specifies; at most
  Occupancy occupancy = {};
};

/// Returns the resources of a plan's kernel on `target`; nothing if its machine code is missing or
/// unreadable.
std::optional<KernelResources> kernel_resources(const KernelCode& kernel, const Target& target);

}  // namespace smelt
