// round_results: rounds what the operations of a description return to the type in which activations are
// stored, so that the rounding does not depend on which kernels later passes make.
//
//   %y = linear %x, %w, %b : f32[..]     =>     %v = linear %x, %w, %r : f32[..]
//                                               %n = convert %v : bf16[..]; %y = convert %n : f32[..]
//
// Here %r is the rounded bias. The pass works on values that a product reads, directly or through other
// operations, and on results of products. (A product is a matmul, a linear map, a convolution or an
// attention.) Of these it rounds
//   - results of products and of composites such as norms and activations;
//   - results of pointwise ops, if a product or a composite reads them, such as the sum of a residual;
//   - parameters that a kernel would read from f32 masters, such as biases.
// It leaves alone statistics of rows, numbers that depend on neither parameters nor inputs of floats, such as
// tables of positions, and what is computed from the last product, such as the loss.
//
// Runs before decompose and differentiate. Ensures: types of values do not change; the derivative of a
// rounding rounds the gradient.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct RoundResultsOptions {
  DType storage = DType::f32;  // bf16 or f16; f32: nothing changes
};
template <typename Field>
void visit_options(Field& field, RoundResultsOptions& o) {
  field("storage", o.storage);
}
bool round_results(Graph& graph, const RoundResultsOptions& options);

}  // namespace smelt
