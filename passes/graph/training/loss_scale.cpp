#include "passes/graph/training/loss_scale.h"

#include <limits>

#include "passes/expressions.h"
#include "passes/graph/training/flatten_parameters.h"

namespace smelt {

constexpr double kLargestScale = 0x1p24;

Value* loss_scale(GraphBuilder& b, const LossScaling& scaling) {
  declare_scalar_state(b.module(), "loss_scale", scaling.initial);
  declare_scalar_state(b.module(), "good_steps");
  declare_scalar_state(b.module(), "skipped_steps");
  return b.state("loss_scale");
}

Value* is_finite(GraphBuilder& b, Value* scalar) {
  return b.le(b.abs(scalar), b.scalar(std::numeric_limits<float>::max()));  // NaN compares false
}

Value* accepts_norm(GraphBuilder& b, const LossScaling& scaling, Value* norm) {
  if (!scaling.limits_norm) return is_finite(b, norm);
  declare_scalar_state(b.module(), "largest_gradient_norm", std::numeric_limits<float>::max());
  return b.le(norm, b.state("largest_gradient_norm"));  // NaN compares false
}

void adapt_loss_scale(GraphBuilder& b, const LossScaling& scaling, Value* norm, Value* accepted) {
  Value* finite = scaling.limits_norm ? is_finite(b, norm) : accepted;
  Value *scale = loss_scale(b, scaling), *zero = b.scalar(0);
  Value* good = shift(b, b.state("good_steps"), 1);
  Value* grows = b.ge(good, b.scalar(scaling.growth_interval));
  Value* larger = b.select(grows, b.min(smelt::scale(b, scale, 2), b.scalar(kLargestScale)), scale);
  Value* smaller = b.max(smelt::scale(b, scale, 0.5), b.scalar(1));
  Value* skipped = b.add(b.state("skipped_steps"), b.select(accepted, zero, b.scalar(1)));
  b.update("loss_scale", b.select(finite, larger, smaller));
  b.update("good_steps", b.select(finite, b.select(grows, zero, good), zero));
  b.update("skipped_steps", skipped);
  b.output("loss_scale", b.max(scale, b.scalar(1)));  // computed: a state that is overwritten would be copied
  b.output("skipped_steps", skipped);
}

}  // namespace smelt
