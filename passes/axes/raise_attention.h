// raise_attention: a product of queries and keys, operations on each score alone, a softmax and a product
// with values become one `attention` whose body is these operations (ir/attention_body.h), which a target may
// take whole.
//
//   %p = matmul %q, %k {spec = "bhtd,bhsd->bhts"}         %y = attention %q', %k', %v' (%score, %b = %bias)
//   %s = mul %p, 0.125                                         {scale = 0.125} {
//   %m = add %s, %bias                              =>      %m = add %score, %b
//   %w = softmax %m                                         return %m
//   %y = matmul %w, %v {spec = "bhts,bhsd->bhtd"}         }
//
// It applies where all of this holds:
//   - both matmuls are of f32 and have no body; the first one's result is [b,h,t,s], with b and h in both
//     operands, t in one, s in the other, and one letter that is summed; the second one sums s, and nothing
//     else;
//   - between the first matmul and the softmax there are pointwise operations and conversions only, between
//     the softmax and the second matmul nothing or a dropout;
//   - nobody else reads any of these values, and none is an output.
// A first multiplication with a number, or division by one, is the attention's scale. What else these
// operations read is an argument of the body, as it was before it was broadcast to the scores. Where it is
// computed, element by element, from values of fewer axes (a mask from places and lengths), it is computed in
// the body. A query whose scores are all -inf gets means of NaN, as its softmax does, by a select after the
// attention, which is left out where no mask can have such a query. Any mask or bias is right, with one
// difference: next to numbers below -1e30 in the body scores below -1e30 count as -1e30, which keeps f32 from
// overflowing. That changes no weight of a query that has a score above -1e30; one that has
// none weighs all such keys alike, those of one mask and those of two.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct RaiseAttentionOptions {};
bool raise_attention(Graph& graph, const RaiseAttentionOptions& options);

}  // namespace smelt
