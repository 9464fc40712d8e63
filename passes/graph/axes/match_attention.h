// match_attention: replaces a matmul of queries and keys, operations on each score, a softmax and a matmul
// with values by one `attention` whose body holds these operations (score_mod, ir/graph/attention_body.h). A
// target may have one kernel for it.
//
//   %p = matmul %q, %k {spec = "bhtd,bhsd->bhts"}         %y = attention %q', %k', %v' (%score, %b = %bias)
//   %s = mul %p, 0.125                                         {scale = 0.125} {
//   %m = add %s, %bias                              =>      %m = add %score, %b
//   %w = softmax %m                                         return %m
//   %y = matmul %w, %v {spec = "bhts,bhsd->bhtd"}         }
//
// It applies if:
//   - both matmuls are of f32 and have no body; the first one's result is [b,h,t,s], with b and h in both
//     operands, t in one, s in the other, and one letter that is summed; the second one sums only s;
//   - between the first matmul and the softmax there are only pointwise operations and conversions, and
//   between
//     the softmax and the second matmul only a dropout or nothing;
//   - no other node reads any of these values, and none is an output.
//
// A first multiplication by a number, or division by one, becomes the attention's scale. Other operands of
// these operations become arguments of the body, without their broadcast to the scores. An operand that is
// computed elementwise from values of fewer axes (a mask from positions and lengths) is computed in the body.
// A query whose scores are all -inf gets means of NaN, as its softmax does, by a select after the attention;
// the select is omitted if no mask can have such a query. Any mask or bias is right, with one difference: if
// the body has numbers below -1e30, scores below -1e30 count as -1e30, which prevents f32 overflow. That
// changes no weight of a query that has a score above -1e30; a query without one weighs all such keys alike,
// no matter how many masks apply to a key.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct MatchAttentionOptions {};
bool match_attention(Graph& graph, const MatchAttentionOptions& options);

}  // namespace smelt
