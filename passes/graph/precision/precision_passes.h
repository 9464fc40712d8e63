// Passes that set the precision of matmuls and attention.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

// ---- allow_tf32.cpp
// allow_tf32: lets matmuls of f32 operands run on a GPU's tensor cores, which read 10 bits of mantissa
// (NVIDIA's TF32) and sum in f32.
//
//   %c = matmul %a, %b {spec = ..} : f32[..]      %c = matmul %a, %b {spec = .., tf32 = true} : f32[..]
//
// Runs after assign_precision, for targets that have such matmuls (ir/target.h). Ensures: values in memory
// and all arithmetic outside matmuls stay f32; the relative error of a matmul operand is at most 2^-11, or
// 2^-10 if the library truncates instead of rounding.

struct AllowTf32Options {};
bool allow_tf32(Graph& graph, const AllowTf32Options& options = {});

// ---- keep_attention_rest.cpp
// keep_attention_rest: passes the rounding residual of an attention's means to its gradient.
//
//   %y, %lse = attention ..                          %y, %lse, %rest = attention .. {rest = true}
//   %delta = fusion (%dy, %y) {                      %delta = fusion (%dy, %y, %rest) {
//     sum dy * y }                                     sum dy * (y + rest) }
//   .. = attention_grad .. (%lse, %delta)            .. = attention_grad .. (%lse, %delta)
//
// The gradient of a score is weight * (product - delta), a difference of two large, nearly equal numbers. The
// rounding of y, which is in delta, would be most of the error of the gradients of queries and keys, and
// would be the whole gradient of a key's bias, which is exactly zero.
//
// Runs after assign_precision. Ensures: means stored as f32, and attentions without a gradient, stay as they
// are; a fusion that computes delta reads y + rest wherever it has read y.

struct KeepAttentionRestOptions {};
bool keep_attention_rest(Graph& graph, const KeepAttentionRestOptions& options = {});

}  // namespace smelt
