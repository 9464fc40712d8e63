// quantize_matmuls: multiplies activations by weights in f8e4m3, in forward and in backward. Each operand is
// divided by a scale of its own, which is its largest magnitude by 448, the largest number of f8e4m3 (current
// scaling by tensor), and the product is multiplied by both scales.
//
//   %y = matmul %x, %w {"btc,oc->bto"}      %m = reduce max abs %x               (sx: of x; sw and sg alike)
//                                           %sx = mul max(%m, 1e-30), 1/448
//                                           %x8 = convert mul %x, 1/%sx : f8e4m3
//                                     ->    %f = mul matmul(%x8, %w8), %sx %sw
//                                           %dx = mul matmul(%g8, %w8), %sg %sw   (%g: the cotangent of %y)
//                                           %dw = mul matmul(%g8, %x8), %sg %sx
//                                           %y = custom_vjp %f, %g, %x, %w, %dx, %dw
//
// Runs before differentiation. The derivative is that of the matmul without rounding ("straight through"). A
// tensor that is 0 everywhere has products of 0; a tensor with an infinity or a NaN has products of NaN.
//
// A matmul is quantized if its weight is a parameter, or neighbouring parameters, with sizes whose products
// of inputs and of outputs are multiples of 16; and unless options name the weights, if it saves more time
// than the rounding of operands takes, and is followed by another matmul with a weight, so that logits are
// not rounded. Ensures: sums of products are f32, scales are f32.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct QuantizeMatmulsOptions {
  std::vector<std::string> weights;  // patterns of names; "*" is any text; empty: by size, but the last
  std::vector<std::string> keep;     // patterns of names of weights that are not rounded
};
template <typename Field>
void visit_options(Field& field, QuantizeMatmulsOptions& o) {
  field("weights", o.weights), field("keep", o.keep);
}
/// Quantizes the matmuls of all graphs. Throws Error if a pattern is the name of no parameter, if no weight
/// that fits a pattern of `weights` can be quantized, and if no weight at all is.
bool quantize_matmuls(Module& module, const QuantizeMatmulsOptions& options);

}  // namespace smelt
