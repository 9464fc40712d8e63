// The CUDA text of a matmul kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

// ---- emit_gemm.cpp
// The text of a matmul kernel for sm_90a, and the TMA tensor maps of its launch.

/// Compute capability of the only GPUs that can run this text, which uses instructions of sm_90a.
inline constexpr int kGemmCapability = 90;

/// Returns the text of the kernel. Requires: `kernel` has a schedule and a `gemm` without `mma`.
std::string emit_gemm(const Kernel& kernel);
/// Returns the tensor maps of A and B.
std::vector<TensorMap> gemm_maps(const Kernel& kernel);

// ---- emit_mma_gemm.cpp
// The text of a matmul kernel for sm_80 and later.

/// Returns the text of the kernel. Requires: `kernel` has a schedule and a `gemm` with `mma`.
std::string emit_mma_gemm(const Kernel& kernel);

// ---- print_gemm_epilogue.cpp
// The epilogue of a matmul: the types and functions that the templates of matmuls use (gemm_text.h).

/// Number of adjacent columns of a row that a lane passes to the epilogue at a time.
inline constexpr int kGemmVector = 8;

/// Returns the loads of the epilogue that are issued before the epilogue runs, as indices into
/// Kernel::instructions. Each of them reads whole, aligned vectors. Requires: `kernel` has a schedule.
std::vector<int> early_gemm_loads(const Kernel& kernel);

/// Returns the instructions that accumulate column sums, as indices into Kernel::instructions. Requires:
/// `kernel` has a `gemm`.
std::vector<int> gemm_sums(const Kernel& kernel);
/// Returns the definitions of BodyArguments, BodyLoads, body_load, body_run and body_sum (gemm_text.h).
std::string print_gemm_epilogue(const Kernel& kernel);

}  // namespace smelt
