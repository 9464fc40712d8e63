// Template kernels of steps that a GPU runs by templates alone; docs/cuda.md has their signatures.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

struct StepKernels {
  std::vector<KernelCode> kernels;
  bool in_sequence =
      false;  // a step runs them one after the other; else each takes sizes that the others leave
};

/// One function per kind of step (StepKind::by_template), in the file of its kernels.
#define SMELT_DECLARE_KERNELS(Kind) \
  StepKernels step_kernels(const Kind& step, const Symbols& symbols, int compute_capability);
SMELT_STEP_KINDS(SMELT_DECLARE_KERNELS)
#undef SMELT_DECLARE_KERNELS

}  // namespace smelt
