// Dynamic loss scaling, which is necessary because small gradients would become 0 in f16. All of it runs on
// the device.
//
// The loss is multiplied by the state "loss_scale" before it is differentiated, which scales all gradients;
// the update divides by the scale. If the gradient's norm is not finite, the update is skipped, the scale is
// halved (down to 1) and the state "skipped_steps" is incremented. After `growth_interval` successive updates
// with a finite norm, which the state "good_steps" counts, the scale doubles (up to 2^24). If the initial
// scale is a power of two, all scales are, and scaling adds no rounding.
#pragma once

#include "ir/graph/builder.h"

namespace smelt {

/// Options of loss scaling.
struct LossScaling {
  bool on = false;                // false: the loss is not scaled
  double initial = 65536;         // initial scale
  double growth_interval = 2000;  // updates
  /// Updates with a norm above the state "largest_gradient_norm", which the host sets, are skipped, too. Then
  /// the scale stays as it is.
  bool limits_norm = false;
};

/// Declares the states "loss_scale", "good_steps" and "skipped_steps" if they are not declared; returns the
/// scale of this step, an f32 scalar.
Value* loss_scale(GraphBuilder& b, const LossScaling& scaling);
/// Returns a boolean scalar: whether an update with this norm of the gradient is made.
Value* accepts_norm(GraphBuilder& b, const LossScaling& scaling, Value* norm);
/// Emits the updates of the three states. `accepted`: the result of accepts_norm for `norm`. Adds the outputs
/// "loss_scale" (of this step) and "skipped_steps" (including this step) to the graph.
void adapt_loss_scale(GraphBuilder& b, const LossScaling& scaling, Value* norm, Value* accepted);
/// Returns a boolean scalar: true if the f32 scalar is neither NaN nor infinite.
Value* is_finite(GraphBuilder& b, Value* scalar);

}  // namespace smelt
