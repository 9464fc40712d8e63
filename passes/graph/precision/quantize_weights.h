// quantize_weights: stores the weights of matmuls in an inference plan as i8 with one scale per row.
//
//   %w = parameter "w" : f32[o,c]                 %q = parameter "w" : i8[o,c]
//   %y = matmul %x, %w {"btc,oc->bto"}            %m = matmul %x, %q {"btc,oc->bto", result = "f32"}
//                                                 %s = slice (state "parameters.i8.scales") : f32[o]
//                                                 %y = mul %m, broadcast %s
//
// Here b, t, c and o are the dims of batch, tokens, inputs and outputs. Every row of a weight has one scale.
// Matmuls sum over the last dim of the weight, so the sum can be multiplied by the scale, instead of each
// weight. The pass quantizes weights [out,in], and also weights with more output dims, such as [s,out,in]. At
// least one reader of a weight must not be a gather, and each reader must be one of:
//   - a matmul that sums over the last dim of the weight;
//   - a concat of weights along dim 0 whose readers are all such matmuls;
//   - a gather of rows, if the weight is also an embedding table. The rows are scaled after they are read, so
//     that no float copy of the weight is kept.
//
// The sums are f32, because f16 would overflow. The pass runs after partition, so it quantizes only one
// rank's part of a sharded weight. Scales are sharded with the rows. If the columns of a weight are sharded,
// each rank has the scales of whole rows.
//
// If %x is converted from bytes, %x8 : i8, the matmul multiplies bytes by bytes, with exact sums:
//   %m = convert (matmul %x8, %q {"btc,oc->bto"} : i32) : f32
//
// Ensures: the segments of these weights move from the state "parameters", or from "parameters.frozen" if
// there are adapters, to "parameters.i8", in the same order, and adjacent segments stay adjacent. Results are
// as if each weight were its quantized value times its scale (runtime/engine/weights/quantize.h). The error
// of an output is at most scale / 2 * sum |x|.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct QuantizeWeightsOptions {
  /// True: matmuls read i8 operands. False: a convert node before the matmul makes f32 of them.
  bool in_place = true;
  /// Quantizes only the weights whose activations are bytes already (quantize_activations.h): all their
  /// readers are matmuls with an operand that a convert node made from i8. Bytes are then multiplied by
  /// bytes.
  bool by_bytes = false;
};
template <typename Field>
void visit_options(Field& field, QuantizeWeightsOptions& o) {
  field("in_place", o.in_place), field("by_bytes", o.by_bytes);
}
/// Quantizes the weights. Throws Error if flatten_parameters has not run, or if parameters have f32 masters,
/// which training updates.
bool quantize_weights(Module& module, const QuantizeWeightsOptions& options = {});

}  // namespace smelt
