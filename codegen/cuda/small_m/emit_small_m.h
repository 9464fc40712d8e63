// The CUDA text of kernels for small-M GEMMs, which are matmuls of a few rows with weights (small_m.h).
#pragma once

#include <string>

#include "codegen/cuda/small_m/small_m.h"
#include "codegen/cuda/small_m/small_m_text.h"
#include "codegen/gpu/lower/kernel_names.h"
#include "ir/kernel/kernel.h"

namespace smelt {

// ---- emit_small_m.cpp
// The text of a kernel that multiplies a few rows, A, by weights, and then runs an epilogue on each element
// of the result. If the kernel has a prologue (Kernel::before), every block runs the prologue first.

/// Returns the text of a kernel. Requires: `kernel` has a schedule, and GemmKernel::is_small_m is true.
std::string emit_small_m(const Kernel& kernel);
/// Returns text that defines `handed`, the argument of body_run (below), from `sums`, the sums of an element.
/// They are rounded as if they had been stored, and the bias is added. Requires: GemmKernel::few is set.
std::string handed_sums(const Kernel& kernel, const gpu::KernelNames& names);
/// Returns how the kernel's weights are stored.
SmallMWeights small_m_weights(const Kernel& kernel);
/// Returns the element type of A. The weights have the same type, or are bytes or packed codes.
DType small_m_dtype(const Kernel& kernel);
/// Returns the bytes of dynamic shared memory that a block needs. If a prologue stores A in shared memory,
/// the bytes of A are included. `most_rows`: the largest number of rows of A.
int64_t small_m_kernel_bytes(const Kernel& kernel, int64_t most_rows);

// ---- small_m_kernel.cpp
// The template kernel for small-M GEMMs (small_m.h) that have no prologue and no epilogue. It uses tensor
// cores.

KernelCode small_m_kernel(const SmallM& few);

// ---- print_element_body.cpp
// The epilogue of a small-M GEMM. It consists of the types and functions that the text of the GEMM uses:
//
//   struct BodyArguments, BodyLoads
//   void body_load(const BodyArguments& body, Index row, Index c, BodyLoads& loads)
//   void body_run(const BodyArguments& body, Index row, Index c, const BodyLoads& loads,
//                 const float (&handed)[PARTS])
//
// Both functions process one element of the result. body_load is called before the products of a tile are
// computed, and issues the loads whose addresses depend only on `row` and `c`. body_run computes the rest of
// the epilogue. The columns of the product consist of PARTS equal parts, such as a gate and the gated values.
// `handed` has the product's element at column c of each part.

std::string print_element_body(const Kernel& kernel);

}  // namespace smelt
