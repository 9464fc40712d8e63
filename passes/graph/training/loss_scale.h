// Dynamic loss scaling, on the device, because small gradients would vanish in f16.
//
// The loss is multiplied by the state "loss_scale" before it is differentiated, which scales all gradients;
// the update divides by it. If the gradient's norm is not finite, the update is skipped, the scale is halved
// (down to 1) and the state "skipped_steps" counts it. After `growth_interval` good updates in a row
// ("good_steps") the scale doubles (up to 2^24). Scales are powers of two and cost no digit.
#pragma once

#include "ir/graph/builder.h"

namespace smelt {

struct LossScaling {
  bool on = false;
  double initial = 65536;
  double growth_interval = 2000;  // updates
};

/// Returns the scale of this step; declares the states.
Value* loss_scale(GraphBuilder& b, const LossScaling& scaling);
/// Updates the three states after a step whose gradient was `finite` or not; outputs "loss_scale" (of this
/// step) and "skipped_steps" (with this one).
void adapt_loss_scale(GraphBuilder& b, const LossScaling& scaling, Value* finite);
/// Returns whether a scalar is neither NaN nor infinite.
Value* is_finite(GraphBuilder& b, Value* scalar);

}  // namespace smelt
