// The last stage: kernels become machine code, the program becomes a plan.
#pragma once

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// Makes the plan. For "cpu" (of this machine) kernels are linked into Plan::binary; for a GPU each has its
/// own source and cubin. Throws Error where this build lacks a code generator for the target. Kernels whose
/// code does not fit a GPU's registers get lighter schedules, which are written to the program, so that it
/// shows the kernels that the plan runs.
Plan make_plan(Program& program, const Target& target = {});

/// One for each kind of target. The first is there only with SMELT_CPU.
Plan make_cpu_plan(const Program& program);
Plan make_cuda_plan(Program& program, const Target& target);
/// Returns the part of a plan that is the same for every target.
Plan plan_without_code(const Program& program);
KernelCode describe_kernel(const Kernel& kernel);

}  // namespace smelt
