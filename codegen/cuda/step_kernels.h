// Template kernels of steps and of states. Their CUDA text is written by hand (codegen/cuda/device); the
// functions below add constants, such as types and sizes, and the kernel's name.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/batched_gemm.h"
#include "runtime/plan/plan.h"

namespace smelt {

// ---- steps
// Kinds of steps, such as top_k, that are always computed by template kernels. docs/dev/cuda.md has the
// signatures of these kernels.

/// The template kernels of one step.
struct StepKernels {
  std::vector<KernelCode> kernels;
  bool in_sequence = false;  // true: a step runs all kernels, in order; false: it runs one, by its sizes
};

/// Returns the kernels of a step. The macro declares one such function per kind of step.
#define SMELT_DECLARE_KERNELS(Kind) \
  StepKernels step_kernels(const Kind& step, const Symbols& symbols, int compute_capability);
SMELT_STEP_KINDS(SMELT_DECLARE_KERNELS)
#undef SMELT_DECLARE_KERNELS

// ---- batched_gemm_kernel.cpp
// The template kernel for matmuls of many small matrices (batched_gemm.h). It uses tensor cores.

KernelCode batched_gemm_kernel(const BatchedGemm& gemm);

// ---- copy_kernel.cpp
// The template kernel for small copies between dense arrays. A kernel is used because, unlike a copy by the
// CUDA driver, it can overlap with the launches before and after it.

KernelCode copy_kernel(const CopyStep& step);

// ---- transpose_kernel.cpp
// The template kernel for copies of matrices whose columns become rows.

/// Requires: is_transposition(step) (runtime/plan/steps/copy.h).
KernelCode transpose_kernel(const CopyStep& step);

// ---- initialize_kernels.cpp
// The kernels that compute initial values of states on the GPU; their text is the same in every plan.

/// Returns the kernels smelt_initialize_f32 and smelt_initialize_bf16. Each is returned only if a state of
/// its type has random initial values and is not a copy of another state. A kernel computes the same bits as
/// initialize_state on the CPU (runtime/engine/weights/initialize.h).
std::vector<KernelCode> initialize_kernels(const std::vector<State>& states);

// ---- round_kernels.cpp
// The kernels that round f32 states to their 16-bit copies after the host has written the states; their text
// is the same in every plan.

/// Returns one kernel, such as "smelt_round_bf16", for each type of the states that are copies of another
/// state.
std::vector<KernelCode> round_kernels(const std::vector<State>& states);

// ---- sample_kernel.cpp
// Template kernels of runtime/plan/steps/sample.h; docs/dev/cuda.md has their signature.

/// Returns the kernels for a GPU of this compute capability: either one for short rows and one for long rows,
/// or a single kernel for all rows.
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
// Programmatic dependent launch of template kernels (KernelCode::waits): a kernel may start while the
// preceding launch still runs.

/// Inserts code at the beginning of the kernel's function. The code lets the next launch start, and waits for
/// the preceding launches. Throws Error (internal) if the source has no __global__ function.
void make_waiting(KernelCode& kernel);

}  // namespace smelt
