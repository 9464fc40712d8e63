// allow_tf32: matmuls of f32 operands may run on a GPU's tensor cores, which read their operands with 10
// bits of mantissa (NVIDIA's TF32) and sum in f32.
//
//   %c = matmul %a, %b {spec = ..} : f32[..]      %c = matmul %a, %b {spec = .., tf32 = true} : f32[..]
//
// For targets that have such matmuls (ir/target.h), after assign_precision. Contract: what lies in memory
// stays f32, and so does all arithmetic outside matmuls; an operand of a matmul is off by 2^-11 of itself, or
// by 2^-10 where the library truncates instead of rounding.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct AllowTf32Options {};
bool allow_tf32(Graph& graph, const AllowTf32Options& options = {});

}  // namespace smelt
