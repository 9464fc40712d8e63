// Kernels whose CUDA text is written by hand, with their launches; docs/dev/cuda.md has their signatures.
#pragma once

#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// A kernel and the steps that run it.
struct TemplateKernel {
  /// Indices of an entry of the program and of a step of this entry.
  struct StepPlace {
    size_t entry, step;
  };
  KernelCode code;
  /// The steps that run the kernel. A step may run several kernels, one after the other. Empty for kernels
  /// that initialize or round states.
  std::vector<StepPlace> steps;
};

/// Returns the kernels that the program's steps and states need on a GPU of this compute capability. If it is
/// 0, returns kernels that run on any GPU.
std::vector<TemplateKernel> template_kernels(const Program& program, int compute_capability = 0);

/// Appends templates to the kernels of the program's plan, and sets the kernels of each step (Step::kernels).
void add_templates(Plan& plan, std::vector<TemplateKernel> templates);

}  // namespace smelt
