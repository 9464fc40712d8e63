// Kernels whose CUDA text is written by hand, with their launches; docs/dev/cuda.md has their signatures.
#pragma once

#include <vector>

#include "ir/program/program.h"

namespace smelt {

struct TemplateKernel {
  struct StepPlace {
    size_t entry, step;
  };
  KernelCode code;
  /// The steps that run the kernel, alone or one after the other with other kernels. Empty for kernels that
  /// initialize or round states.
  std::vector<StepPlace> steps;
};

/// Returns the kernels that the program's steps and states need on a GPU of this compute capability. 0:
/// returns kernels that run on any GPU.
std::vector<TemplateKernel> template_kernels(const Program& program, int compute_capability = 0);

/// Appends templates to the kernels of the program's plan, and sets the kernels of each step (Step::kernels).
void add_templates(Plan& plan, std::vector<TemplateKernel> templates);

}  // namespace smelt
