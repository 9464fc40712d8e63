// apply_optimizer: the outputs "grad.PARAMETER" become one flat gradient, and the gradient an update of the
// parameters.
//
// The gradients are packed in segment order, into the state "gradients" where they are kept; the optimiser
// (optimizers.h) is pointwise code over flat values, so that one launch updates everything. Declares the
// states it needs: "gradients" where it keeps them, the moments, "learning_rate" (the host sets it), "step".
// Replaces the outputs "grad.*" by "gradient_norm" (before clipping). Needs flatten_parameters. Every node
// made carries phase = "update".
#pragma once

#include "passes/training/optimizers.h"

namespace smelt {

bool apply_optimizer(Graph& graph, const ApplyOptimizerOptions& options);
/// optimizer = "adamw", weight_decay = "0.01", clip_norm = "1", decay = "all" | "declared", loss_scale =
/// "65536" (the first one; the loss that is differentiated has it as a factor), ...
void set_option(ApplyOptimizerOptions& options, std::string_view key, std::string_view value);

/// Removes the outputs "grad.*" and returns them in the order of the segments of `flat`.
std::vector<Value*> take_gradients(Graph& graph, const State& flat);
/// The same packed as one flat value.
Value* take_flat_gradient(GraphBuilder& b, const State& flat);

}  // namespace smelt
