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
// keep_attention_rest: passes the rounding residual of an attention's result to its gradient.
//
//   %y, %lse = attention ..                          %y, %lse, %rest = attention .. {rest = true}
//   %delta = fusion (%dy, %y) {                      %delta = fusion (%dy, %y, %rest) {
//     sum dy * y }                                     sum dy * (y + rest) }
//   .. = attention_grad .. (%lse, %delta)            .. = attention_grad .. (%lse, %delta)
//
// Here %y is the result of the attention: for each query, the mean of the values, weighted by the softmax of
// the scores. These means are stored as bf16 or f16, and %rest is what their rounding removed. %dy is the
// gradient of the means, and %delta has one sum per query. The gradient of a score is weight * (product -
// delta), where `product` is the dot product of the query's row of dy and the key's row of the values. The
// numbers `product` and delta are nearly equal. So without %rest, the rounding error of y would be most of
// the error of the gradients of queries and keys.
//
// Runs after assign_precision. Ensures: attentions whose means are stored as f32, and attentions without a
// gradient, do not change; a fusion that computes delta reads y + rest instead of y.

struct KeepAttentionRestOptions {};
bool keep_attention_rest(Graph& graph, const KeepAttentionRestOptions& options = {});

// ---- read_codes.cpp
// read_codes: lets attentions read keys and values that are codes of 8 bits times a scale per head.
//
//   %wide = convert %codes : f32[b,s,g,d]
//   %all = broadcast %scales {axes = [0, 1, 2]} : f32[b,s,g,d]
//   %product = mul %wide, %all
//   %k = convert %product : bf16[b,s,g,d]             (and likewise %v, of %more and %others)
//   .. = attention %q, %k, %v ..
//     =>
//   .. = attention %q, %codes, %more, %scales, %others ..
//
// The scales may be of 16 bits and widened before or after the broadcast. So a kernel of attention reads a
// byte per element, and multiplies the scores by the scales of the keys, and the weights by those of the
// values. Where it does, k and v are not rounded to the type of q; a kernel that widens codes into tiles of
// 16 bits (many queries on a GPU) rounds them.

struct ReadCodesOptions {};
bool read_codes(Graph& graph, const ReadCodesOptions& options = {});

}  // namespace smelt
