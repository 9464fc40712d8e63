// quantize_weights: stores the weights of matmuls in an inference plan as i8 with one scale per row.
//
//   %w = parameter "w" : f32[o,c]                 %q = parameter "w" : i8[o,c]
//   %y = matmul %x, %w {"btc,oc->bto"}            %m = matmul %x, %q {"btc,oc->bto", result = "f32"}
//                                                 %s = slice (state "parameters.i8.scales") : f32[o]
//                                                 %y = mul %m, broadcast %s
//
// A scale belongs to an output and so commutes with the sum. The pass takes weights [out,in], or [s,out,in]
// for stacks that ranks share, if every reader is such a matmul, a gather of rows (a table that is also the
// head's weight: its rows are scaled when they are read, so no float copy is kept), or a concat of such
// weights with only such matmuls as readers. Sums are f32, because sums of whole numbers up to 127 would
// overflow f16. Ensures: "parameters" loses the segments of these weights to "parameters.i8", which keeps
// their order and adjacency; results are those of the weights that runtime/engine/weights/quantize.h stores,
// with an error of at most scale / 2 * sum |x| per output. Of sharded weights the pass takes one rank's part,
// after partition: scales are sharded with the rows, and a rank with a part of the columns has the scales of
// whole rows.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct QuantizeWeightsOptions {
  /// True: matmuls read i8 operands. False: a convert before them makes floats.
  bool in_place = true;
};
template <typename Field>
void visit_options(Field& field, QuantizeWeightsOptions& o) {
  field("in_place", o.in_place);
}
/// Quantizes the weights. Requires: flatten_parameters has run, without masters; throws Error otherwise.
bool quantize_weights(Module& module, const QuantizeWeightsOptions& options = {});

}  // namespace smelt
