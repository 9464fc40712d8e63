// pack_weights: stores the weights of matmuls that no update changes as codes of few bits, with one scale for
// each group of neighbouring elements of a row: those of an inference plan, or the frozen ones of training.
//
//   %w = parameter "w" : f32[o,c]             %q = slice, reshape (state "parameters.packed") : u8[o,c/2]
//   %y = matmul %x, %w {"btc,oc->bto"}        %s = slice, reshape (state "parameters.packed.scales") :
//   bf16[o,c/64]
//                                             %w = dequantize %q, %s {format = "int4"} : bf16[o,c]
//                                             %y = matmul %x, convert %w {"btc,oc->bto"}
//
// Here b, t, c and o are the dims of batch, tokens, inputs and outputs. The pass packs weights [out,in], and
// weights with more output dims, all of whose readers are matmuls that sum over the last dim. Tables of which
// rows are read by index stay floats.
//
// In training, matmuls that compute the gradients of inputs sum over other dims. The pass runs after
// differentiation, and backward makes the numbers again, so that they are not kept in memory:
//
//   %dx = matmul %dy, %w {"bto,oc->btc"}      %v = dequantize %q, %s {anchored = true, phase = backward}
//                                             %dx = matmul %dy, convert %v {"bto,oc->btc"}
//
// Ensures: the segments of these weights move from the state "parameters", or from "parameters.frozen" if
// there are adapters or frozen weights, to "parameters.packed", in the same order, and adjacent segments stay
// adjacent.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct PackWeightsOptions {
  std::string format = "int4";    // runtime/base/packed_format.h
  int64_t group = 64;             // elements that have one scale; 0: a row
  bool zeros = false;             // groups have a zero, too
  DType storage = DType::f32;     // of scales, and of the numbers that are multiplied
  std::vector<std::string> keep;  // patterns of names of weights that stay floats; "*" is any text
  bool frozen = false;            // the plan trains: only frozen weights, which backward multiplies, too
};
template <typename Field>
void visit_options(Field& field, PackWeightsOptions& o) {
  field("format", o.format), field("group", o.group), field("zeros", o.zeros), field("storage", o.storage);
  field("keep", o.keep), field("frozen", o.frozen);
}
/// Packs the weights. Throws Error if flatten_parameters has not run, if ranks have parts of a weight, if
/// groups do not divide the rows of a weight, if a pattern of `keep` is the name of no parameter, and if
/// there is no weight to pack.
bool pack_weights(Module& module, const PackWeightsOptions& options);

}  // namespace smelt
