// allow_tf32: products of f32 matrices may be made by a GPU's tensor cores, which read their operands with 10
// bits of mantissa (NVIDIA's TF32) and sum in f32.
//
//   %c = matmul %a, %b {spec = ..} : f32[..]      %c = matmul %a, %b {spec = .., tf32 = true} : f32[..]
//
// For targets that have such products (ir/target.h), after assign_precision. Contract: what lies in memory
// stays f32, and so does all arithmetic outside products; every operand of one is off by 2^-11 of itself or,
// where the library cuts instead of rounding, 2^-10.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct AllowTf32Options {};
bool allow_tf32(Graph& graph, const AllowTf32Options& options = {});

}  // namespace smelt
