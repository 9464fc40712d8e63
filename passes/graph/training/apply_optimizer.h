// apply_optimizer: packs the outputs "grad.PARAMETER" into one flat gradient and appends the update of the
// parameters.
//
//   return loss = %l, grad.w = %dw    =>    %g = pack %dw, ..; %p = .. %g ..
//                                           update %p {state = "parameters"}
//                                           return loss = %l, gradient_norm = %n
//
// The gradients are packed in segment order, into the state "gradients" if they are kept. The optimizer
// (optimizers.h) is pointwise code over flat values, so that one launch updates everything. Declares the
// states it needs: "gradients" if they are kept, the moments, "learning_rate" (set by the host), "step".
// Replaces the outputs "grad.*" by "gradient_norm" (before clipping). Requires flatten_parameters. Every new
// node carries phase = "update".
#pragma once

#include "passes/graph/training/optimizers.h"

namespace smelt {

bool apply_optimizer(Graph& graph, const ApplyOptimizerOptions& options);

/// Removes the outputs "grad.*" and returns them in the order of the segments of `flat`.
std::vector<Value*> take_gradients(Graph& graph, const State& flat);
/// Removes these outputs and returns them packed as one flat value.
Value* take_flat_gradient(GraphBuilder& b, const State& flat);

}  // namespace smelt
