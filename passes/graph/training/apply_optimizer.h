// apply_optimizer: packs the outputs "grad.PARAMETER" into one flat gradient and appends the update of the
// parameters.
//
//   return loss = %l, grad.w = %dw    =>    %g = pack %dw, ..; %p = .. %g ..
//                                           update %p {state = "parameters"}
//                                           return loss = %l, gradient_norm = %n
//
// A flat value holds the elements of all parameters one after another; the elements of one parameter are its
// segment (flatten_parameters.h). The gradients are packed in the order of the segments. With the option
// keep_gradients, the flat gradient is also written to the state "gradients". The optimizer (optimizers.h) is
// pointwise code over flat values, so that one launch updates all parameters. The pass declares the states
// that it needs: the moments, "learning_rate" (set by the host), "step" and, if kept, "gradients". It
// replaces the outputs "grad.*" with "gradient_norm", the norm before clipping. New nodes have the phase
// `update`. Requires: flatten_parameters and differentiate have run.
#pragma once

#include "passes/graph/training/optimizers.h"

namespace smelt {

/// Appends the update; returns true. Throws Error if a trained parameter has no output "grad.PARAMETER".
bool apply_optimizer(Graph& graph, const ApplyOptimizerOptions& options);

/// Removes the outputs "grad.*" and returns their values in the order of the segments of `flat`. Throws Error
/// if a segment has none.
std::vector<Value*> take_gradients(Graph& graph, const State& flat);
/// Calls take_gradients() for the graph of `b`. Returns the gradients packed as one f32 value of the shape of
/// `flat`.
Value* take_flat_gradient(GraphBuilder& b, const State& flat);

}  // namespace smelt
