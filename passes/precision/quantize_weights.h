// quantize_weights: weights that matmuls read, of a plan that does not train, become i8 with a scale a row.
//
//   %w = parameter "w" : f32[o,c]                 %q = parameter "w" : i8[o,c]
//   %y = matmul %x, %w {"btc,oc->bto"}            %m = matmul %x, %q {"btc,oc->bto", result = "f32"}
//                                                 %s = slice (state "parameters.i8.scales") : f32[o]
//                                                 %y = mul %m, broadcast %s
//
// A scale belongs to an output and so commutes with the sum. Taken are weights [out,in], also of several dims
// [s,out,in] as ranks share stacks of them, of which every reader is such a matmul, a gather of rows (a table
// that is the head's too: its rows are scaled when they are read, and the floats need not be kept), or a
// concat of such weights that such matmuls alone read. Sums are f32, since whole numbers up to 127 would
// leave f16. Contract: "parameters" loses the segments of these weights to "parameters.i8", whose order and
// adjacency they keep; results are those of the weights that runtime/weights/quantize.h stores, and off by at
// most scale / 2 * sum |x| an output. Of weights that ranks share it takes a rank's parts, behind partition:
// scales are cut with the rows, and a rank that has columns alone has the scales of whole rows.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct QuantizeWeightsOptions {
  /// Matmuls read bytes themselves; else a convert in front of them makes floats.
  bool in_place = true;
};
/// in_place = "true" | "false"
void set_option(QuantizeWeightsOptions& options, std::string_view key, std::string_view value);
/// After flatten_parameters without masters; throws Error where that has not run.
bool quantize_weights(Module& module, const QuantizeWeightsOptions& options = {});

}  // namespace smelt
