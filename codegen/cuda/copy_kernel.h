// The template for small dense copies: a kernel may begin before the launches in front of it have ended, and
// those behind it before it has, which a copy of the driver's may not.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

KernelCode copy_kernel(const CopyStep& step);

}  // namespace smelt
