#include "passes/graph/training/optimizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "passes/graph/training/loss_scale.h"
#include "passes/graph/training/segment_search.h"
#include "passes/graph/training/sums_over_ranks.h"
#include "passes/graph/training/update_context.h"
#include "runtime/base/error.h"

namespace smelt {

void UpdateContext::write_parameters(Value* next) const {
  const State* state = b.module().find_state("parameters");
  if (finite) next = b.select(spread(finite, next), next, parameters);
  if (state->dtype != DType::f32) {
    Value* bits = b.random(next->shape(), b.module().next_random_id());
    const Type stored{state->dtype, next->shape()};
    next = b.create(Op::convert, {next, bits}, {}, stored)->result();
  }
  b.update("parameters", next);
  if (const State* copy = parameter_copy(b.module())) b.update(copy->name, b.convert(next, copy->dtype));
  if (options.ema > 0) write_mean(widened(b, next));
}

void UpdateContext::write_mean(Value* next) const {
  require_whole("averaged parameters");
  Value* offset = moment(std::string(kAverageOffset));
  write(std::string(kAverageOffset), scale(b, b.add(offset, b.sub(parameters, next)), options.ema), offset);
}

void UpdateContext::require_whole(std::string_view what) const {
  const bool has_mean = options.ema > 0;
  const std::string option = has_mean ? fmt::format("--ema={}", options.ema)
                                      : fmt::format("--optimizer={}", name(options.optimizer));
  if (flat.shape.size() > 1)
    fail("{} needs {}, and --zero gives each rank a part of the states: give --zero=0", option, what);
  for (const Segment& segment : flat.segments)
    if (!segment.cut.empty())
      fail("{} needs {}, and ranks have parts of parameter \"{}\": leave the axis model out of --mesh",
           option, what, segment.name);
  if (b.module().stage)
    fail("{} needs {}, and a stage of a pipeline has some of them: leave the axis stage out of --mesh",
         option, what);
}

Value* UpdateContext::rates(Value* rate, Value* place) const {
  Value* all = place ? spread(rate, place) : spread(rate);
  return groups.rates.empty()
             ? all
             : b.mul(
                   all,
                   SegmentNumbers(b, flat, place ? place : flat_places(b, all->shape())).find(groups.rates));
}

Value* UpdateContext::weight_decays(Value* like, Value* place) const {
  if (groups.decays.empty()) return b.like(like, options.weight_decay);
  return scale(b, SegmentNumbers(b, flat, place ? place : flat_places(b, like->shape())).find(groups.decays),
               options.weight_decay);
}

Value* UpdateContext::decayed_parameters() const {
  if (options.weight_decay == 0) return parameters;
  if (!groups.empty()) {
    Value* lost = b.mul(rates(learning_rate), weight_decays(parameters));
    return where_decayed(b.mul(parameters, shift(b, b.neg(lost), 1)), parameters);
  }
  Value* kept = shift(b, scale(b, learning_rate, -options.weight_decay), 1);
  return where_decayed(b.mul(parameters, spread(kept)), parameters);
}

Value* UpdateContext::where_decayed(Value* decayed, Value* plain, Value* place) const {
  const int64_t boundary = decay_boundary(flat, options.decay_all);
  if (options.decay_all || !groups.decays.empty()) return decayed;
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
  const double beta1 = *c.options.beta1, beta2 = *c.options.beta2;
  return {b.add(m, scale(b, b.sub(g, m), 1 - beta1)),
          b.add(scale(b, v, beta2), scale(b, b.mul(g, g), 1 - beta2))};
}

Value* adam_direction(const UpdateContext& c, const AdamMoments& next) {
  GraphBuilder& b = c.b;
  Value* unbias = b.rsqrt(bias_correction(c, *c.options.beta2));
  return b.div(next.m, shift(b, b.mul(b.sqrt(next.v), c.spread(unbias, next.v)), *c.options.eps));
}

namespace {

/// g + weight_decay p.
Value* with_l2(const UpdateContext& c) {
  Value* g = c.gradient();
  if (c.options.weight_decay == 0) return g;
  return c.where_decayed(c.b.add(g, c.b.mul(c.parameters, c.weight_decays(c.parameters))), g);
}

void descend(const UpdateContext& c, Value* from, Value* rate, Value* direction) {
  c.write_parameters(c.b.sub(from, c.b.mul(c.rates(rate), direction)));
}

void sgd(const UpdateContext& c) { descend(c, c.parameters, c.learning_rate, with_l2(c)); }

/// buffer = momentum buffer + (1 - dampening) g; the first step starts from g itself.
void momentum(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = with_l2(c), *buffer = c.moment("momentum");
  Value* next = b.add(scale(b, buffer, *c.options.momentum), scale(b, g, 1 - c.options.dampening));
  if (c.options.dampening != 0) next = b.select(c.spread(b.le(c.step, b.scalar(1))), g, next);
  c.write("momentum", next, buffer);
  descend(c, c.parameters, c.learning_rate,
          c.options.nesterov ? b.add(g, scale(b, next, *c.options.momentum)) : next);
}

void adagrad(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = with_l2(c), *sum = c.moment("adagrad.sum", c.options.initial_accumulator_value);
  Value* next = b.add(sum, b.mul(g, g));
  c.write("adagrad.sum", next, sum);
  Value* slowed = shift(b, scale(b, shift(b, c.step, -1), c.options.learning_rate_decay), 1);
  Value* rate = c.options.learning_rate_decay == 0 ? c.learning_rate : b.div(c.learning_rate, slowed);
  descend(c, c.parameters, rate, b.div(g, shift(b, b.sqrt(next), *c.options.eps)));
}

/// p - rate / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps), from the decayed parameters `from`.
void adam_step(const UpdateContext& c, Value* from, Value* g) {
  Value *m = c.moment("adam.m"), *v = c.moment("adam.v");
  const AdamMoments next = next_moments(c, m, v, g);
  c.write("adam.m", next.m, m);
  c.write("adam.v", next.v, v);
  Value* rate = c.b.div(c.learning_rate, bias_correction(c, *c.options.beta1));
  descend(c, from, rate, adam_direction(c, next));
}

void adam(const UpdateContext& c) { adam_step(c, c.parameters, with_l2(c)); }

void adamw(const UpdateContext& c) { adam_step(c, c.decayed_parameters(), c.gradient()); }

/// p - lr sign(beta1 m + (1 - beta1) g), from the decayed parameters; then m = beta2 m + (1 - beta2) g (Chen
/// et al., 2023, "Symbolic Discovery of Optimization Algorithms", arXiv:2302.06675).
void lion(const UpdateContext& c) {
  GraphBuilder& b = c.b;
  Value *g = c.gradient(), *m = c.moment("lion.m"), *change = b.sub(g, m);
  c.write("lion.m", b.add(m, scale(b, change, 1 - *c.options.beta2)), m);
  Value* direction = b.sign(b.add(m, scale(b, change, 1 - *c.options.beta1)));
  descend(c, c.decayed_parameters(), c.learning_rate, direction);
}

/// In the order of the values of Optimizer.
struct Row {
  void (*update)(const UpdateContext&);
  UpdateNumbers numbers = {};
};
constexpr UpdateNumbers kAdam = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
constexpr UpdateNumbers kMuon = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .momentum = 0.95};
constexpr UpdateNumbers kNorMuon = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .momentum = 0.95};
constexpr std::array<Row, kOptimizerNames.size()> kRows = {{
    {sgd},
    {momentum, {.momentum = 0.9}},
    {adagrad, {.eps = 1e-8}},
    {adam, kAdam},
    {adamw, kAdam},
    {lamb, kAdam},
    {lion, {.beta1 = 0.9, .beta2 = 0.99}},
    {muon, kMuon},
    {normuon, kNorMuon},
    {adafactor},
    {schedule_free_adamw, kAdam},
    {adamw8bit, kAdam},
}};
const Row& row_of(Optimizer optimizer) { return kRows[static_cast<size_t>(optimizer)]; }

/// Returns the options with the rule's defaults in place of absent numbers.
ApplyOptimizerOptions with_numbers(ApplyOptimizerOptions options) {
  const UpdateNumbers standard = default_numbers(options.optimizer);
  const auto take = [](std::optional<double>& number, std::optional<double> other) {
    if (!number) number = other;
  };
  take(options.beta1, standard.beta1), take(options.beta2, standard.beta2);
  take(options.eps, standard.eps), take(options.momentum, standard.momentum);
  return options;
}

/// min(1, clip_norm / (norm + 1e-6)), as torch's clip_grad_norm_.
Value* clip_factor(GraphBuilder& b, Value* norm, double limit) {
  return b.min(b.div(b.scalar(limit), shift(b, norm, 1e-6)), b.scalar(1));
}

Value* product(GraphBuilder& b, Value* a, Value* c) { return !a ? c : !c ? a : b.mul(a, c); }

/// A number that is finite and not below 0; absent numbers are those of the rule.
struct NumberRow {
  std::string_view name;
  std::optional<double> value;
  bool below_one = false;
};
std::vector<NumberRow> number_rows(const ApplyOptimizerOptions& o) {
  return {{"learning_rate", o.learning_rate},
          {"weight_decay", o.weight_decay},
          {"clip", o.clip_norm},
          {"beta1", o.beta1, true},
          {"beta2", o.beta2, true},
          {"eps", o.eps},
          {"momentum", o.momentum},
          {"learning_rate_decay", o.learning_rate_decay},
          {"initial_accumulator_value", o.initial_accumulator_value},
          {"layer_decay", o.layer_decay},
          {"ema", o.ema, true},
          {"adamw_rate", o.adamw_rate}};
}

}  // namespace

void check_options(const ApplyOptimizerOptions& options) {
  for (const NumberRow& row : number_rows(options))
    if (const double value = row.value.value_or(0);
        !(value >= 0 && std::isfinite(value) && (value < 1 || !row.below_one)))
      fail("optimiser: {} is {}, expected a number from 0 on{}", row.name, value,
           row.below_one ? ", below 1" : "");
  check_groups(options);
  if (options.ema > 0 && options.optimizer == Optimizer::schedule_free_adamw)
    fail("--ema={}: schedule-free-adamw has an average of its own; leave one of them out", options.ema);
}

UpdateNumbers default_numbers(Optimizer optimizer) { return row_of(optimizer).numbers; }

std::string_view name(Optimizer optimizer) { return kOptimizerNames[static_cast<size_t>(optimizer)]; }

std::optional<Optimizer> parse_optimizer(std::string_view name) {
  const auto found = std::ranges::find(kOptimizerNames, name);
  if (found == kOptimizerNames.end()) return std::nullopt;
  return static_cast<Optimizer>(found - kOptimizerNames.begin());
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
  const State flat = flat_parameters(module);
  const ApplyOptimizerOptions complete = with_numbers(options);
  row_of(options.optimizer)
      .update({b, complete, parameters, gradients, factor, b.state("learning_rate"), step, finite, flat,
               parameter_groups(module, flat, options)});
  return norm;
}

}  // namespace smelt
