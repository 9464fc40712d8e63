// Resources that a thread block of a GPU kernel needs, and the number of blocks that fit on a multiprocessor.
#pragma once

#include <optional>

#include "codegen/cuda/cubin_resources.h"
#include "codegen/cuda/occupancy.h"
#include "ir/target.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// The resources of a kernel, and the occupancy that follows from them.
struct KernelResources {
  CubinResources code;              // registers, stack and static shared memory, from the machine code
  int threads = 0;                  // of a block
  int64_t launch_shared_bytes = 0;  // dynamic shared memory of a block: the largest of all launches
  Occupancy occupancy = {};
};

/// Returns the resources of a plan's kernel on `target`; empty if its machine code is missing or unreadable.
std::optional<KernelResources> kernel_resources(const KernelCode& kernel, const Target& target);

}  // namespace smelt
