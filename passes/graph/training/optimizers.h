// Update rules of the optimizers, as pointwise code over flat values, with PyTorch's semantics.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph/builder.h"
#include "ir/pass_options.h"
#include "passes/graph/training/loss_scale.h"

namespace smelt {

enum class Optimizer { sgd, momentum, adagrad, adam, adamw, lamb };
/// Returns "adamw", ...
std::string_view name(Optimizer optimizer);
std::optional<Optimizer> parse_optimizer(std::string_view name);

struct ApplyOptimizerOptions {
  Optimizer optimizer = Optimizer::adamw;
  double learning_rate = 1e-3;  // initial value of the state "learning_rate", which the host sets
  /// The term weight_decay * parameter is added to the gradient; in lamb to the direction of the step. adamw
  /// instead multiplies the parameter by 1 - learning_rate * weight_decay (decoupled decay).
  double weight_decay = 0;
  bool decay_all = false;      // true: decay all parameters, also those that are declared without decay
  bool keep_gradients = true;  // store the gradient in the state "gradients"; false: in temporary memory
  double clip_norm = 0;        // largest global norm of the gradient; 0: no limit
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;                  // adam, adamw, lamb; eps of adagrad too
  double momentum = 0.9, dampening = 0;                           // momentum
  bool nesterov = false;                                          // momentum
  double learning_rate_decay = 0, initial_accumulator_value = 0;  // adagrad
  LossScaling scaling = {};
};
template <typename Field>
void visit_options(Field& field, ApplyOptimizerOptions& o) {
  static constexpr std::array<std::string_view, 6> kOptimizers = {"sgd",  "momentum", "adagrad",
                                                                  "adam", "adamw",    "lamb"};
  static constexpr std::array<std::string_view, 2> kDecays = {"declared", "all"};
  field("optimizer", NamedOption{o.optimizer, kOptimizers}), field("learning_rate", o.learning_rate);
  field("weight_decay", o.weight_decay), field("decay", NamedOption{o.decay_all, kDecays});
  field("keep_gradients", o.keep_gradients), field("clip_norm", o.clip_norm);
  field("beta1", o.beta1), field("beta2", o.beta2), field("eps", o.eps);
  field("momentum", o.momentum), field("dampening", o.dampening), field("nesterov", o.nesterov);
  field("learning_rate_decay", o.learning_rate_decay);
  field("initial_accumulator_value", o.initial_accumulator_value);
  field("loss_scale", OptionalNumber{o.scaling.on, o.scaling.initial});
  field("loss_scale_growth", o.scaling.growth_interval), field("limit_norm", o.scaling.limits_norm);
}

/// Throws Error with the first number that is out of range for the update rules, such as a beta1 of 1.
void check_options(const ApplyOptimizerOptions& options);

/// Emits the update of "parameters", of the optimizer's moments and of "step", and declares the states that
/// it needs. The gradient is `factor` (a scalar; null: 1) times `gradients`, a value with the shape of the
/// flat state "parameters". With loss scaling, also adapts the scale. Returns the norm of the gradient before
/// clipping, a scalar.
Value* build_update(GraphBuilder& b, Value* gradients, Value* factor, const ApplyOptimizerOptions& options);

}  // namespace smelt
