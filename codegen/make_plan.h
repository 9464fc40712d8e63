// The last step of compilation: turns the kernels of a program into machine code, and the program into a
// plan.
#pragma once

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// Makes the plan. For a CPU, all kernels are linked into Plan::binary; the code is for the processor of this
/// machine. For a GPU, each kernel has separate source text and a separate cubin. If a GPU kernel needs more
/// registers than the GPU has, it gets another schedule, which needs fewer. The new schedule is also stored
/// in `program`, so that a listing of the program shows the kernel as it is in the plan. Throws Error if this
/// build lacks a code generator for the target.
Plan make_plan(Program& program, const Target& target = {});

/// Throws Error (internal) with all faults if the code that the back end makes from a kernel is not valid
/// (CodeGenerator::verify).
void verify_code(const Program& program, const Target& target);

/// Make a plan for one kind of target. make_cpu_plan exists only in builds with SMELT_CPU.
Plan make_cpu_plan(const Program& program);
Plan make_cuda_plan(Program& program, const Target& target);
/// Returns a plan that has everything but the code of its kernels. This part is the same for every target.
Plan plan_without_code(const Program& program);
/// Returns the KernelCode of a kernel, without machine code.
KernelCode describe_kernel(const Kernel& kernel);

}  // namespace smelt
