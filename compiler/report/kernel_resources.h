// Resources that the blocks of a GPU's kernel need, and the number of blocks that a multiprocessor holds.
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
  int64_t launch_shared_bytes = 0;  // that a launch asks for, at most
  Occupancy occupancy = {};
};

/// Returns nothing where the plan has no readable machine code of the kernel.
std::optional<KernelResources> kernel_resources(const KernelCode& kernel, const Target& target);

}  // namespace smelt
