// Template kernels of steps and of states. Their CUDA text is written by hand (codegen/cuda/device);
// constants and names are added to it.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/batched_gemm.h"
#include "runtime/plan/plan.h"

namespace smelt {

// ---- steps
// Template kernels for kinds of steps for which the compiler generates no other kernels, such as top_k;
// docs/dev/cuda.md has their signatures.

/// The template kernels of one step.
struct StepKernels {
  std::vector<KernelCode> kernels;
  bool in_sequence = false;  // a step runs all kernels, in order; false: its sizes determine which one runs
};

/// Returns the kernels of a step. The macro declares one function per kind of step. The functions for kinds
/// that have StepKind::by_template are defined in the source files of their kernels.
#define SMELT_DECLARE_KERNELS(Kind) \
  StepKernels step_kernels(const Kind& step, const Symbols& symbols, int compute_capability);
SMELT_STEP_KINDS(SMELT_DECLARE_KERNELS)
#undef SMELT_DECLARE_KERNELS

// ---- batched_gemm_kernel.cpp
// The template for matmuls of many small matrices (batched_gemm.h), on the tensor cores.

KernelCode batched_gemm_kernel(const BatchedGemm& gemm);

// ---- copy_kernel.cpp
// The template for small copies between dense arrays. Unlike a copy by the driver, a kernel can overlap with
// the launches before and after it.

KernelCode copy_kernel(const CopyStep& step);

// ---- initialize_kernels.cpp
// The kernels that compute initial values of states on the GPU; their text is the same in every plan.

/// Returns the kernels smelt_initialize_f32 and smelt_initialize_bf16. Each is returned only if a state of
/// its type has random initial values and is not a copy of another state. The kernels read rows that
/// initial_rows makes (runtime/engine/weights/initialize.h), and compute the same bits as initialize_state.
std::vector<KernelCode> initialize_kernels(const std::vector<State>& states);

// ---- round_kernels.cpp
// The kernels that round f32 states to their 16-bit copies after the host has written the states; their text
// is the same in every plan.

/// Returns one kernel, such as "smelt_round_bf16", for each type of the states that are copies of another
/// state.
std::vector<KernelCode> round_kernels(const std::vector<State>& states);

// ---- sample_kernel.cpp
// Template kernels of runtime/plan/steps/sample.h; docs/dev/cuda.md has their signature.

/// Returns the kernels for a GPU of this compute capability: one for short rows and one for long rows, or one
/// for all rows.
std::vector<KernelCode> sample_kernels(int compute_capability);

// ---- scan_kernels.cpp
// Template kernels of runtime/plan/steps/scan.h; docs/dev/cuda.md has their signatures.

/// Returns two kernels: one for scans along the last axis (ScanStep::inner is 1), and one for scans along
/// other axes. `kind` is "add", "max" or "mul".
std::vector<KernelCode> scan_kernels(const std::string& kind, DType dtype, bool exclusive);

// ---- top_k_kernel.cpp
// Template kernels of runtime/plan/steps/top_k.h; docs/dev/cuda.md has their signature.

/// Returns the kernels for a GPU of this compute capability. The length and the number of the rows determine
/// which of them runs.
std::vector<KernelCode> top_k_kernels(int64_t k, int compute_capability);

// ---- waiting_template.cpp
// Programmatic dependent launch of templates (KernelCode::waits).

/// Inserts code at the beginning of the kernel's function. The code lets the next launch start, and waits for
/// the preceding launches. Throws Error (internal) if the source has no __global__ function.
void make_waiting(KernelCode& kernel);

}  // namespace smelt
