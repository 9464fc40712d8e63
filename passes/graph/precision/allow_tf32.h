// allow_tf32: lets matmuls of f32 operands run on a GPU's tensor cores, which read 10 bits of mantissa
// (NVIDIA's TF32) and sum in f32.
//
//   %c = matmul %a, %b {spec = ..} : f32[..]      %c = matmul %a, %b {spec = .., tf32 = true} : f32[..]
//
// Runs after assign_precision, for targets that have such matmuls (ir/target.h). Ensures: values in memory
// and all arithmetic outside matmuls stay f32; the relative error of a matmul operand is at most 2^-11, or
// 2^-10 if the library truncates instead of rounding.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct AllowTf32Options {};
bool allow_tf32(Graph& graph, const AllowTf32Options& options = {});

}  // namespace smelt
