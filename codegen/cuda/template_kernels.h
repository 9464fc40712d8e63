// Kernels that are written by hand, with how they are launched; docs/cuda.md has their signatures.
#pragma once

#include <vector>

#include "ir/program.h"

namespace smelt {

/// Those that the program's steps and states want.
std::vector<KernelCode> template_kernels(const Program& program);

/// Tells every step of the plan which of its kernels are its templates (Step::kernels).
void assign_templates(Plan& plan);

}  // namespace smelt
