// Kernels that are written by hand, with how they are launched; docs/cuda.md has their signatures.
#pragma once

#include <vector>

#include "ir/program.h"

namespace smelt {

struct TemplateKernel {
  struct StepPlace {
    size_t entry, step;
  };
  KernelCode code;
  /// The steps that it does, alone or after the kernels before it; none of a kernel that is for states.
  std::vector<StepPlace> steps;
};

/// Those that the program's steps and states want on a GPU of this compute capability, or on any.
std::vector<TemplateKernel> template_kernels(const Program& program, int compute_capability = 0);

/// Appends them to the kernels of the program's plan and tells its steps which are theirs (Step::kernels).
void add_templates(Plan& plan, std::vector<TemplateKernel> templates);

}  // namespace smelt
