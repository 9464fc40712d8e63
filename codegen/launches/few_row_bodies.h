// A matmul of few rows by weights with the kernels around it, as one kernel: what comes before it, such as a
// norm, and what goes on with each element, such as a bias and an activation. A run for one token consists of
// such matmuls, whose time is that of reading weights, and of small kernels between them, whose time is that
// of starting them.
//
//   before    one kernel of rows makes A. Every block runs all of it while its first weights are on their way
//             and leaves A in shared memory; what else it stores the first block stores alone
//   body      one kernel without reductions reads the result at the element at hand, or at one each of a few
//             neighbouring parts of its columns (a gate and what it opens)
//
// Where the rows are never more than a template for few rows takes (codegen/cuda/few_rows/).
#pragma once

#include "ir/program.h"
#include "ir/target.h"

namespace smelt {

/// For programs that a GPU will run, between `lower` and `schedule_kernels`.
bool fuse_few_rows(Program& program, const Target& target);

}  // namespace smelt
