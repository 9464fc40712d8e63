// Epilogue fusion for sm_90a: a matmul and the kernel that reads its result element by element become one
// kernel, a template (codegen/cuda/gemm/) with that kernel's instructions as its epilogue. The two steps
// become the first variant of a choice, the template with tiles of several sizes the others, and the executor
// takes the fastest.
//
// The rule looks at the kernel's instructions: one block of column code whose columns are the result's
// columns, no reduction along a row, and a result that is read at the element's own position. Each row of
// tiles makes one row of partial column sums, where the kernel itself has at least that many partial rows. If
// other steps read the result, too, the template stores it.
#pragma once

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool offer_gemm_bodies(Program& program, const Target& target);

}  // namespace smelt
