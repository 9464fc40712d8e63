// A matmul and the kernel that goes on with its result, element by element, as one kernel for sm_90a: a
// template (codegen/cuda/gemm/) with that kernel's instructions as its body. The two steps become the first
// alternative of a choice, the template with tiles of several sizes the others, and the executor takes the
// fastest.
//
// The test is of the kernel's instructions, not of what they compute: one block of column code whose columns
// are the result's, no reduction along a row, and the result read at the element's own place. Each row of
// tiles makes one row of partial column sums, where the kernel's own partial rows are at least that many.
// Where others read the result, too, the template stores it.
#pragma once

#include "ir/program.h"
#include "ir/target.h"

namespace smelt {

/// For programs that a GPU will run, between `lower` and `schedule_kernels`.
bool offer_gemm_bodies(Program& program, const Target& target);

}  // namespace smelt
