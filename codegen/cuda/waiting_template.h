// A template as a kernel that waits for the launches in front of it (KernelCode::waits).
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// First of all its function lets the launch behind it begin and waits for those in front. Throws Error
/// (internal) where the source has no kernel.
void make_waiting(KernelCode& kernel);

}  // namespace smelt
