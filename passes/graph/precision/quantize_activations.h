// quantize_activations: multiplies activations by weights as numbers from -127 to 127, as quantisation-aware
// training does (LightSeq2; PACT, Choi et al., 2018). An activation has a trained bound: a parameter of one
// number, read as at least kLeastActivationBound (runtime/plan/activation_bound.h), which %c stands for. A
// row of a weight (the weights of one output) has its largest magnitude as a bound.
//
//   %y = matmul %x, %w {"btc,oc->bto"}     %c = parameter "NAME.input_bound" : f32[]
//                                          %q = round clamp(%x * 127/%c, -127, 127)
// in inference:                            %b = convert (convert %q : i8) : f32
//                                          %y = mul matmul(%b, %w), %c/127
// in training:                             %m = reduce max abs %w                  (by rows)
//                                          %p = round clamp(%w * 127/%m, -127, 127)
//                                          %f = mul matmul(%q, %p), %m/127 %c/127
//                                          %y = custom_vjp %f, %g, %x, %w, %c, %dx, %dw, %dc
//
// with %g the cotangent of %y, %d = matmul(%g, %p * %m/127) and
//   %dx = %d where |%x| <= %c, else 0        %dc = sum of %d where %x > %c, minus that where %x < -%c
//   %dw = matmul(%g, %q * %c/127)
// In inference, quantize_weights follows, and multiplies bytes by bytes.
//
// Runs before differentiation. Values that several weights multiply have one bound, whose NAME is that of
// the first of these weights without ".weight"; in files, it may have that of any of them. The numbers of a
// product are exact in f32 up to 1,040 terms, and always in an integer matmul: the results differ by the
// rounding of f32 sums, and by numbers of weights near a tie, which training rounds after a product in f32,
// and loading after a quotient in f64 (runtime/engine/weights/quantize.h).
//
// A matmul is quantized if it sums over the last dim of its weight, which is a parameter with sizes that are
// multiples of 16 that only matmuls read. Requires: f32, no ranks.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct QuantizeActivationsOptions {
  bool trains = false;
  /// Names in files of the bounds of the activations that are quantized. Empty: all activations but those of
  /// the last matmuls, which no other follows.
  std::vector<std::string> bounds = {};
  /// Patterns of names of weights; "*" is any text. Activations that such a weight multiplies stay floats.
  std::vector<std::string> keep = {};
  std::string loss = "loss";  // the graph whose matmuls count, in training
  /// In training: the graph that is added, a copy of the loss without rounding. It returns the largest
  /// magnitude of each activation under the name of its bound; empty: none.
  std::string calibration = {};
};
template <typename Field>
void visit_options(Field& field, QuantizeActivationsOptions& o) {
  field("trains", o.trains), field("bounds", o.bounds), field("keep", o.keep), field("loss", o.loss);
  field("calibration", o.calibration);
}
/// Quantizes the matmuls of all graphs, and adds the bounds to the parameters. Throws Error if no matmul can
/// be quantized, or a pattern fits no name.
bool quantize_activations(Module& module, const QuantizeActivationsOptions& options);

}  // namespace smelt
