// What the blocks of a GPU's kernel need, and how many a multiprocessor holds.
#pragma once

#include <optional>

#include "compiler/report/cubin_resources.h"
#include "compiler/report/occupancy.h"
#include "ir/target.h"
#include "runtime/plan/plan.h"

namespace smelt {

struct KernelResources {
  CubinResources code;
  int threads = 0;                  // of a block
  int64_t launch_shared_bytes = 0;  // that a launch asks for, at most
  Occupancy occupancy = {};
};

/// Nothing where the plan has no machine code of it that can be read.
std::optional<KernelResources> kernel_resources(const KernelCode& kernel, const Target& target);

}  // namespace smelt
