#include "passes/graph/training/optimizers.h"

#include <cmath>

#include "passes/graph/training/loss_scale.h"
#include "passes/graph/training/sums_over_ranks.h"
#include "passes/graph/training/update_context.h"
#include "runtime/base/error.h"

namespace smelt {

void UpdateContext::write_parameters(Value* next) const {
  const State* state = b.module().find_state("parameters");
  if (finite) next = b.select(spread(finite, next), next, parameters);
  if (state->dtype != DType::f32) {
    Value* bits = b.random(next->shape(), b.module().next_random_id());
    b.update("parameters",
             b.create(Op::convert, {next, bits}, {}, Type{state->dtype, next->shape()})->result());
    return;
  }
  b.update("parameters", next);
  if (const State* copy = parameter_copy(b.module())) b.update(copy->name, b.convert(next, copy->dtype));
}

Value* UpdateContext::where_decayed(Value* decayed, Value* plain, Value* place) const {
  const int64_t boundary = decay_boundary(flat, options.decay_all);
  if (options.decay_all) return decayed;
  if (boundary == 0) return plain;
  if (!place) place = flat_places(b, plain->shape());
  return b.select(b.lt(place, b.like(place, static_cast<double>(boundary))), decayed, plain);
}

Value* bias_correction(const UpdateContext& c, double beta) {
  if (beta == 0) return c.b.scalar(1);
  return c.b.neg(c.b.expm1(scale(c.b, c.step, std::log(beta))));
}

AdamMoments next_moments(const UpdateContext& c, Value* m, Value* v, Value* g) {
  GraphBuilder& b = c.b;
  const double beta1 = c.options.beta1, beta2 = c.options.beta2;
  return {b.add(m, scale(b, b.sub(g, m), 1 - beta1)),
          b.add(scale(b, v, beta2), scale(b, b.mul(g, g), 1 - beta2))};
}

Value* adam_direction(const UpdateContext& c, const AdamMoments& next) {
  GraphBuilder& b = c.b;
  Value* unbias = b.rsqrt(bias_correction(c, c.options.beta2));
  return b.div(next.m, shift(b, b.mul(b.sqrt(next.v), c.spread(unbias, next.v)), c.options.eps));
}

namespace {

/// g + weight_decay p.
Value* with_l2(const UpdateContext& c) {
  Value* g = c.gradient();
  if (c.options.weight_decay == 0) return g;
  return c.where_decayed(c.b.add(g, scale(c.b, c.parameters, c.options.weight_decay)), g);
}

void descend(const UpdateContext& c, Value* from, Value* rate, Value* direction) {
  c.write_parameters(c.b.sub(from, c.b.mul(c.spread(rate), direction)));
}

void sgd(const UpdateContext& c) { descend(c, c.parameters, c.learning_rate, with_l2(c)); }

/// buffer = momentum buffer + (1 - dampening) g; the first step starts from g itself.
void momentum(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = with_l2(c), *buffer = c.moment("momentum");
  Value* next = b.add(scale(b, buffer, c.options.momentum), scale(b, g, 1 - c.options.dampening));
  if (c.options.dampening != 0) next = b.select(c.spread(b.le(c.step, b.scalar(1))), g, next);
  c.write("momentum", next, buffer);
  descend(c, c.parameters, c.learning_rate,
          c.options.nesterov ? b.add(g, scale(b, next, c.options.momentum)) : next);
}

void adagrad(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = with_l2(c), *sum = c.moment("adagrad.sum", c.options.initial_accumulator_value);
  Value* next = b.add(sum, b.mul(g, g));
  c.write("adagrad.sum", next, sum);
  Value* slowed = shift(b, scale(b, shift(b, c.step, -1), c.options.learning_rate_decay), 1);
  Value* rate = c.options.learning_rate_decay == 0 ? c.learning_rate : b.div(c.learning_rate, slowed);
  descend(c, c.parameters, rate, b.div(g, shift(b, b.sqrt(next), c.options.eps)));
}

/// p - rate / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps), from the decayed parameters `from`.
void adam_step(const UpdateContext& c, Value* from, Value* g) {
  Value *m = c.moment("adam.m"), *v = c.moment("adam.v");
  const AdamMoments next = next_moments(c, m, v, g);
  c.write("adam.m", next.m, m);
  c.write("adam.v", next.v, v);
  Value* rate = c.b.div(c.learning_rate, bias_correction(c, c.options.beta1));
  descend(c, from, rate, adam_direction(c, next));
}

void adam(const UpdateContext& c) { adam_step(c, c.parameters, with_l2(c)); }

/// Decoupled decay: p (1 - lr weight_decay) before the step.
void adamw(const UpdateContext& c) {
  Value* p = c.parameters;
  if (c.options.weight_decay != 0) {
    Value* kept = shift(c.b, scale(c.b, c.learning_rate, -c.options.weight_decay), 1);
    p = c.where_decayed(c.b.mul(p, c.spread(kept)), p);
  }
  adam_step(c, p, c.gradient());
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
    {Optimizer::lamb, "lamb", lamb},
};

/// min(1, clip_norm / (norm + 1e-6)), as torch's clip_grad_norm_.
Value* clip_factor(GraphBuilder& b, Value* norm, double limit) {
  return b.min(b.div(b.scalar(limit), shift(b, norm, 1e-6)), b.scalar(1));
}

Value* product(GraphBuilder& b, Value* a, Value* c) { return !a ? c : !c ? a : b.mul(a, c); }

/// A number that is finite and not below 0.
struct NumberRow {
  std::string_view name;
  double ApplyOptimizerOptions::* member;
  bool below_one = false;
};
constexpr NumberRow kNumberRows[] = {
    {"learning_rate", &ApplyOptimizerOptions::learning_rate},
    {"weight_decay", &ApplyOptimizerOptions::weight_decay},
    {"clip", &ApplyOptimizerOptions::clip_norm},
    {"beta1", &ApplyOptimizerOptions::beta1, true},
    {"beta2", &ApplyOptimizerOptions::beta2, true},
    {"eps", &ApplyOptimizerOptions::eps},
    {"momentum", &ApplyOptimizerOptions::momentum},
    {"learning_rate_decay", &ApplyOptimizerOptions::learning_rate_decay},
    {"initial_accumulator_value", &ApplyOptimizerOptions::initial_accumulator_value}};

}  // namespace

void check_options(const ApplyOptimizerOptions& options) {
  for (const NumberRow& row : kNumberRows)
    if (const double value = options.*row.member;
        !(value >= 0 && std::isfinite(value) && (value < 1 || !row.below_one)))
      fail("optimiser: {} is {}, expected a number from 0 on{}", row.name, value,
           row.below_one ? ", below 1" : "");
}

std::string_view name(Optimizer optimizer) { return kRows[static_cast<size_t>(optimizer)].name; }

std::optional<Optimizer> parse_optimizer(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.optimizer;
  return std::nullopt;
}

Value* build_update(GraphBuilder& b, Value* gradients, Value* factor, const ApplyOptimizerOptions& options) {
  check_options(options);
  Module& module = b.module();
  declare_scalar_state(module, "learning_rate", options.learning_rate);
  declare_scalar_state(module, "step");
  Value* norm = b.sqrt(sum_over_ranks(b, flat_parameters(module), b.mul(gradients, gradients)));
  if (factor) norm = b.mul(norm, factor);
  if (options.clip_norm > 0) factor = product(b, factor, clip_factor(b, norm, options.clip_norm));
  Value *before = b.state("step"), *step = shift(b, before, 1);
  Value* finite = options.scaling.on ? accepts_norm(b, options.scaling, norm) : nullptr;
  b.update("step", finite ? b.select(finite, step, before) : step);
  if (finite) adapt_loss_scale(b, options.scaling, norm, finite);
  Value* parameters = widened(b, b.state("parameters"));
  kRows[static_cast<size_t>(options.optimizer)].update({b, options, parameters, gradients, factor,
                                                        b.state("learning_rate"), step, finite,
                                                        flat_parameters(module)});
  return norm;
}

}  // namespace smelt
