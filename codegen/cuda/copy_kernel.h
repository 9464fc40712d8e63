// The template for small dense copies. Unlike a copy of the driver's, a kernel can overlap with the launches
// before and after it.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

KernelCode copy_kernel(const CopyStep& step);

}  // namespace smelt
