// Template kernels of steps and of states: CUDA text of codegen/cuda/device with the constants of one plan.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/batched_gemm.h"
#include "runtime/plan/plan.h"

namespace smelt {

// ---- steps
// Template kernels of steps that a GPU runs by templates alone; docs/cuda.md has their signatures.

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

// ---- batched_gemm_kernel.cpp
// The template for matmuls of many small matrices (batched_gemm.h) on the tensor cores.

KernelCode batched_gemm_kernel(const BatchedGemm& gemm);

// ---- copy_kernel.cpp
// The template for small dense copies. Unlike a copy of the driver's, a kernel can overlap with the launches
// before and after it.

KernelCode copy_kernel(const CopyStep& step);

// ---- initialize_kernels.cpp
// The kernels that compute initial values in place; the same in every plan.

/// "smelt_initialize_f32" or "smelt_initialize_bf16", for every such type of a state that begins with random
/// numbers and is no copy. They take rows of initial_rows (runtime/engine/weights/initialize.h) and give the
/// bits of initialize_state.
std::vector<KernelCode> initialize_kernels(const std::vector<State>& states);

// ---- round_kernels.cpp
// The kernels that round f32 states to their narrow copies when the host has written them; the same in every
// plan.

/// "smelt_round_bf16" or "smelt_round_f16", for every type that a state has which is a copy of another.
std::vector<KernelCode> round_kernels(const std::vector<State>& states);

// ---- sample_kernel.cpp
// Template kernels of runtime/plan/steps/sample.h; docs/cuda.md has their signature.

/// Returns the kernels for a GPU of this compute capability: for long rows and for short ones, or one for
/// all. Each takes the sizes that the other one leaves.
std::vector<KernelCode> sample_kernels(int compute_capability);

// ---- scan_kernels.cpp
// Template kernels of runtime/plan/steps/scan.h; docs/cuda.md has their signatures.

/// Returns the kernels for lines with contiguous elements, and for others. Each takes the sizes that the
/// other one leaves.
std::vector<KernelCode> scan_kernels(const std::string& kind, DType dtype, bool exclusive);

// ---- top_k_kernel.cpp
// Template kernels of runtime/plan/steps/top_k.h; docs/cuda.md has their signature.

/// Returns the kernels for a GPU of this compute capability. Each takes the sizes that the others leave.
std::vector<KernelCode> top_k_kernels(int64_t k, int compute_capability);

// ---- waiting_template.cpp
// Makes a template a kernel that waits for the launches before it (KernelCode::waits).

/// Inserts code at the begin of the kernel's function that lets the next launch begin and waits for the
/// preceding ones. Throws Error (internal) where the source has no kernel.
void make_waiting(KernelCode& kernel);

}  // namespace smelt
