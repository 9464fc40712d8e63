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
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct KeepAttentionRestOptions {};
bool keep_attention_rest(Graph& graph, const KeepAttentionRestOptions& options = {});

}  // namespace smelt
