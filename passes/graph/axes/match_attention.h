// match_attention: replaces a matmul of queries and keys, operations on each score, a softmax and a matmul
// with values by one `attention`. The body of the attention (its score_mod, ir/graph/attention_body.h)
// contains the operations on each score.
//
//   %p = matmul %q, %k {spec = "bhtd,bhsd->bhts"}         %y = attention %q', %k', %v' (%score, %b = %bias)
//   %s = mul %p, 0.125                                         {scale = 0.125} {
//   %m = add %s, %bias                              =>      %m = add %score, %b
//   %w = softmax %m                                         return %m
//   %y = matmul %w, %v {spec = "bhts,bhsd->bhtd"}         }
//
// %q', %k' and %v' are the operands with the axes in the order that `attention` requires: [b,t,h,d] and
// [b,s,h,d]. A transpose, not shown, restores the order of the axes of %y.
//
// The pass applies if:
//   - both matmuls are of f32 and have no body;
//   - the first matmul makes scores [b,h,t,s]: b and h are dims of both operands, t is a dim of one operand,
//     and s of the other; one more dim, of both operands, is summed;
//   - the second matmul sums only s;
//   - all nodes from the first matmul to the softmax are pointwise operations and conversions;
//   - the softmax is read by the second matmul, or by a dropout that the second matmul reads;
//   - the results of the first matmul, of the nodes up to the softmax, of the softmax and of the dropout have
//     no other readers, and are not outputs of the graph.
//
// If the first operation on the scores is a multiplication or division by a number, it becomes the
// attention's scale. Other operands of the operations on scores become arguments of the body. If an operand
// is a broadcast to the scores' shape, the broadcast's operand becomes the argument. An operand that is
// computed elementwise from values of fewer axes, such as a mask from positions and lengths, is computed in
// the body. If all scores of a query are -inf, its softmax is NaN. A select after the attention then sets the
// query's result to NaN. The select is omitted if it is proven that every query has a score above -inf.
//
// Results are those of the original nodes, with one exception. If a mask or bias has finite numbers below
// -1e30, scores below -1e30 are set to -1e30, which prevents f32 overflow. That changes no weight of a query
// that has a score above -1e30. All keys of any other query get the same weight.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct MatchAttentionOptions {};
/// Returns whether the graph changed.
bool match_attention(Graph& graph, const MatchAttentionOptions& options);

}  // namespace smelt
