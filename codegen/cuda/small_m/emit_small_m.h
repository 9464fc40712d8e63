// The CUDA text of kernels for small-M GEMMs, which are matmuls of a few rows with weights (small_m.h).
#pragma once

#include <string>

#include "codegen/cuda/small_m/small_m.h"
#include "ir/kernel/kernel.h"

namespace smelt {

// ---- emit_small_m.cpp
// The text of a kernel for a small-M GEMM with weights and an epilogue per element. If it has a prologue
// (Kernel::before), every block runs the prologue first.

/// Returns the text of a kernel. Requires: `kernel` has a schedule, and a `gemm` with SmallMTiles.
std::string emit_small_m(const Kernel& kernel);
/// Returns the type of A. Weights have the same type, unless they are i8.
DType small_m_dtype(const Kernel& kernel);
/// Returns the bytes of dynamic shared memory of a block: those of the template, and those of A if a prologue
/// stores A there. `most_rows`: the largest number of rows of A.
int64_t small_m_kernel_bytes(const GemmKernel& gemm, int64_t most_rows);

// ---- small_m_kernel.cpp
// The template for small-M GEMMs (small_m.h) on the tensor cores, without prologue and epilogue.

KernelCode small_m_kernel(const SmallM& few);

// ---- print_element_body.cpp
// The epilogue of a small-M GEMM as the types and functions that its text calls:
//
//   struct BodyArguments, BodyLoads
//   void body_load(const BodyArguments& body, Index row, Index c, BodyLoads& loads)
//   void body_run(const BodyArguments& body, Index row, Index c, const BodyLoads& loads,
//                 const float (&handed)[PARTS])
//
// Both functions process one element of the result. body_load issues the loads that depend on no other value,
// and is called before the products of its tile. `handed` holds the elements of the product, one per part:
// the product's columns consist of PARTS equal parts (a gate and the gated values, for example), and one call
// of body_run reads the same column of each part.

std::string print_element_body(const Kernel& kernel);

}  // namespace smelt
