// Fuses a small-M GEMM with weights and the kernels around it to one kernel: a prologue, such as a norm, and
// an epilogue per element, such as a bias and an activation. A run for one token consists of such matmuls,
// whose time is the time to read weights, and of small kernels between them, whose time is the time of a
// launch.
//
//   prologue  (Kernel::before) one kernel over rows makes A. Every block runs all of it while its first
//             weights are loaded, and leaves A in shared memory; only the first block stores other results
//   epilogue  (the body) one kernel without reductions reads the result at the current element, or one
//             element of each of a few neighbouring parts of its columns (a gate and the gated values)
//
// Requires: the number of rows is never larger than the small-M template takes (codegen/cuda/few_rows/).
#pragma once

#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool fuse_few_rows(Program& program, const Target& target);

}  // namespace smelt
