// The last stage: kernels become machine code, the program becomes a plan.
#pragma once

#include "ir/program.h"

namespace smelt {

/// Compiles every kernel for the CPU of this machine and links them into Plan::binary.
Plan make_plan(const Program& program);

}  // namespace smelt
