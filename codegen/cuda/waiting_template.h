// Makes a template a kernel that waits for the launches before it (KernelCode::waits).
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Inserts code at the begin of the kernel's function that lets the next launch begin and waits for the
/// preceding ones. Throws Error (internal) where the source has no kernel.
void make_waiting(KernelCode& kernel);

}  // namespace smelt
