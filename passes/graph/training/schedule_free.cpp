// Schedule-free AdamW (Defazio et al., 2024, "The Road Less Scheduled", arXiv:2405.15682), as
// AdamWScheduleFree of the package schedulefree. The gradient is that at y, the parameters. z is the sequence
// without averaging, and x, at which the model is evaluated, is the mean of z weighted by the squares of the
// largest rates: y = (1 - beta1) z + beta1 x.
//
//   n = g / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay y
//   z = z - lr n;   x = x + w (z - x)              w: this step's weight / the sum of all weights
//
// The state "parameters.average" is e = x - y, which begins as 0 for any weights. Then
//   y = y - w beta1 / (1 - beta1) e + lr (beta1 (1 - w) - 1) n
//   e = (1 - w) (e + lr (1 - beta1) n)
#include "passes/graph/training/averaged_parameters.h"
#include "passes/graph/training/update_context.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// This step's share of the sum of weights, a scalar.
Value* weight_of_step(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  for (const char* name : {"schedule_free.rate", "schedule_free.weights"})
    declare_scalar_state(b.module(), name);
  Value *largest = b.state("schedule_free.rate"), *sum = b.state("schedule_free.weights");
  Value* next = b.max(largest, c.learning_rate);
  Value *weight = b.mul(next, next), *all = b.add(sum, weight);
  c.write("schedule_free.rate", next, largest);
  c.write("schedule_free.weights", all, sum);
  Value* zero = b.scalar(0);
  return b.select(b.gt(all, zero), b.div(weight, b.select(b.gt(all, zero), all, b.scalar(1))), zero);
}

/// The normalised gradient, with decay at the parameters; moves the second moment.
Value* normalized_gradient(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = c.gradient(), *v = c.moment("schedule_free.v");
  Value* next = b.add(scale(b, v, *c.options.beta2), scale(b, b.mul(g, g), 1 - *c.options.beta2));
  c.write("schedule_free.v", next, v);
  Value* n = adam_direction(c, {g, next});
  if (c.options.weight_decay == 0) return n;
  return c.where_decayed(b.add(n, b.mul(c.parameters, c.weight_decays(c.parameters))), n);
}

}  // namespace

void schedule_free_adamw(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  const double beta = *c.options.beta1;
  if (beta == 0) fail("optimiser: beta1 is 0, expected a number above 0 with schedule-free-adamw");
  c.require_whole("averaged parameters");
  Value *w = weight_of_step(c), *rest = shift(b, b.neg(w), 1), *n = normalized_gradient(c);
  Value *e = c.moment(std::string(kAverageOffset)), *step = b.mul(c.rates(c.learning_rate), n);
  Value* to_z = b.mul(c.spread(scale(b, w, -beta / (1 - beta))), e);
  Value* along = b.mul(c.spread(shift(b, scale(b, rest, beta), -1)), step);
  c.write_parameters(b.add(c.parameters, b.add(to_z, along)));
  Value* next = b.mul(c.spread(rest), b.add(e, scale(b, step, 1 - beta)));
  c.write(std::string(kAverageOffset), next, e);
}

}  // namespace smelt
