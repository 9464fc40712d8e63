// keep_attention_rest: the gradient of an attention reads its means with the digits that rounding took.
//
//   %y, %lse = attention ..                          %y, %lse, %rest = attention .. {rest = true}
//   %delta = fusion (%dy, %y) {                      %delta = fusion (%dy, %y, %rest) {
//     sum dy * y }                                     sum dy * (y + rest) }
//   .. = attention_grad .. (%lse, %delta)            .. = attention_grad .. (%lse, %delta)
//
// The gradient of a score is weight * (product - delta), where most of two large numbers cancels: the
// rounding of y, which is in delta, would be most of the error of gradients of queries and keys, and all that
// there is of the gradient of a key's bias, which is zero.
//
// After assign_precision. Contract: what is stored as f32 stays as it is, and so does an attention that no
// gradient reads; a fusion that makes delta reads y + rest wherever it has read y.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct KeepAttentionRestOptions {};
bool keep_attention_rest(Graph& graph, const KeepAttentionRestOptions& options = {});

}  // namespace smelt
