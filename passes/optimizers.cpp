#include "passes/optimizers.h"

#include <cmath>

#include "passes/expressions.h"
#include "passes/flatten_parameters.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// What a rule sees: flat values, and scalars of this step.
struct UpdateContext {
  GraphBuilder& b;
  const ApplyOptimizerOptions& options;
  Value* parameters;
  Value* gradient;
  Value* learning_rate;
  Value* step;  // 1 in the first step
  const State& flat;

  Value* spread(Value* scalar) const { return everywhere(b, scalar, parameters->shape()); }
  Value* moment(std::string name, double initial = 0) const {
    declare_flat_state(b.module(), name, Role::optimizer, initial);
    return b.state(name);
  }
};

/// `decayed` where weight decay applies, else `plain`.
Value* where_decayed(const UpdateContext& c, Value* decayed, Value* plain) {
  const int64_t boundary = decay_boundary(c.flat, c.options.decay_all);
  if (c.options.decay_all && llvm::none_of(c.flat.segments, [](const Segment& s) { return s.frozen; }))
    return decayed;
  if (boundary == 0) return plain;
  Value* place = c.b.iota({DType::i32, plain->shape()}, 0);
  return c.b.select(c.b.lt(place, c.b.like(place, static_cast<double>(boundary))), decayed, plain);
}

/// g + weight_decay p.
Value* with_l2(const UpdateContext& c) {
  if (c.options.weight_decay == 0) return c.gradient;
  Value* decayed = c.b.add(c.gradient, scale(c.b, c.parameters, c.options.weight_decay));
  return where_decayed(c, decayed, c.gradient);
}

void descend(const UpdateContext& c, Value* from, Value* rate, Value* direction) {
  Value* next = c.b.sub(from, c.b.mul(c.spread(rate), direction));
  c.b.update("parameters", next);
  if (const State* copy = parameter_copy(c.b.module()))
    c.b.update(copy->name, c.b.convert(next, copy->dtype));
}

void sgd(const UpdateContext& c) { descend(c, c.parameters, c.learning_rate, with_l2(c)); }

/// buffer = momentum buffer + (1 - dampening) g; the first step starts from g itself.
void momentum(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = with_l2(c), *buffer = c.moment("momentum");
  Value* next = b.add(scale(b, buffer, c.options.momentum), scale(b, g, 1 - c.options.dampening));
  if (c.options.dampening != 0) next = b.select(c.spread(b.le(c.step, b.scalar(1))), g, next);
  b.update("momentum", next);
  descend(c, c.parameters, c.learning_rate,
          c.options.nesterov ? b.add(g, scale(b, next, c.options.momentum)) : next);
}

void adagrad(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = with_l2(c), *sum = c.moment("adagrad.sum", c.options.initial_accumulator_value);
  Value* next = b.add(sum, b.mul(g, g));
  b.update("adagrad.sum", next);
  Value* slowed = shift(b, scale(b, shift(b, c.step, -1), c.options.learning_rate_decay), 1);
  Value* rate = c.options.learning_rate_decay == 0 ? c.learning_rate : b.div(c.learning_rate, slowed);
  descend(c, c.parameters, rate, b.div(g, shift(b, b.sqrt(next), c.options.eps)));
}

/// 1 - beta^step, without the cancellation of the plain form.
Value* bias_correction(const UpdateContext& c, double beta) {
  if (beta == 0) return c.b.scalar(1);
  return c.b.neg(c.b.expm1(scale(c.b, c.step, std::log(beta))));
}

/// p - rate / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps), from the decayed parameters `from`.
void adam_step(const UpdateContext& c, Value* from, Value* g) {
  GraphBuilder& b = c.b;
  const double beta1 = c.options.beta1, beta2 = c.options.beta2;
  Value *m = c.moment("adam.m"), *v = c.moment("adam.v");
  Value* next_m = b.add(m, scale(b, b.sub(g, m), 1 - beta1));
  Value* next_v = b.add(scale(b, v, beta2), scale(b, b.mul(g, g), 1 - beta2));
  b.update("adam.m", next_m);
  b.update("adam.v", next_v);
  Value* rate = b.div(c.learning_rate, bias_correction(c, beta1));
  Value* unbias = b.rsqrt(bias_correction(c, beta2));
  Value* denominator = shift(b, b.mul(b.sqrt(next_v), c.spread(unbias)), c.options.eps);
  descend(c, from, rate, b.div(next_m, denominator));
}

void adam(const UpdateContext& c) { adam_step(c, c.parameters, with_l2(c)); }

/// Decoupled decay: p (1 - lr weight_decay) before the step.
void adamw(const UpdateContext& c) {
  Value* p = c.parameters;
  if (c.options.weight_decay != 0) {
    Value* kept = shift(c.b, scale(c.b, c.learning_rate, -c.options.weight_decay), 1);
    p = where_decayed(c, c.b.mul(p, c.spread(kept)), p);
  }
  adam_step(c, p, c.gradient);
}

struct Row {
  Optimizer optimizer;
  std::string_view name;
  void (*update)(const UpdateContext&);
};
constexpr Row kRows[] = {
    {Optimizer::sgd, "sgd", sgd},
    {Optimizer::momentum, "momentum", momentum},
    {Optimizer::adagrad, "adagrad", adagrad},
    {Optimizer::adam, "adam", adam},
    {Optimizer::adamw, "adamw", adamw},
};

/// g min(1, clip_norm / (norm + 1e-6)), as torch's clip_grad_norm_.
Value* clipped(GraphBuilder& b, Value* g, Value* norm, double limit) {
  Value* ratio = b.div(b.scalar(limit), shift(b, norm, 1e-6));
  return b.mul(g, everywhere(b, b.min(ratio, b.scalar(1)), g->shape()));
}

}  // namespace

std::string_view name(Optimizer optimizer) { return kRows[static_cast<size_t>(optimizer)].name; }

std::optional<Optimizer> parse_optimizer(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.optimizer;
  return std::nullopt;
}

Value* build_update(GraphBuilder& b, Value* gradient, const ApplyOptimizerOptions& options) {
  Module& module = b.module();
  declare_scalar_state(module, "learning_rate", options.learning_rate);
  declare_scalar_state(module, "step");
  Value* norm = b.sqrt(b.sum(b.mul(gradient, gradient), {0}));
  if (options.clip_norm > 0) gradient = clipped(b, gradient, norm, options.clip_norm);
  Value* step = shift(b, b.state("step"), 1);
  b.update("step", step);
  const State flat = flat_parameters(module);  // a copy: declaring states moves the module's
  kRows[static_cast<size_t>(options.optimizer)].update(
      {b, options, b.state("parameters"), gradient, b.state("learning_rate"), step, flat});
  return norm;
}

}  // namespace smelt
