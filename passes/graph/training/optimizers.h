// Update rules of the optimizers, as code over flat values, with PyTorch's semantics where PyTorch has them
// (docs/guides/training.md has the formulas and their sources).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/builder.h"
#include "ir/pass_options.h"
#include "passes/graph/training/loss_scale.h"

namespace smelt {

enum class Optimizer {
  sgd,
  momentum,
  adagrad,
  adam,
  adamw,
  lamb,
  lion,
  muon,
  normuon,
  adafactor,
  schedule_free_adamw,
  adamw8bit
};
inline constexpr std::array<std::string_view, 12> kOptimizerNames = {"sgd",
                                                                     "momentum",
                                                                     "adagrad",
                                                                     "adam",
                                                                     "adamw",
                                                                     "lamb",
                                                                     "lion",
                                                                     "muon",
                                                                     "normuon",
                                                                     "adafactor",
                                                                     "schedule-free-adamw",
                                                                     "adamw8bit"};
/// Returns "adamw", ...
std::string_view name(Optimizer optimizer);
std::optional<Optimizer> parse_optimizer(std::string_view name);

/// Returns whether the rule updates hidden matrices (hidden_matrices.h) by orthogonal directions.
constexpr bool orthogonalizes(Optimizer optimizer) {
  return optimizer == Optimizer::muon || optimizer == Optimizer::normuon;
}

/// Elements per block of moments in 8 bits.
inline constexpr int64_t kMomentBlock = 256;
/// Returns the number whose multiples are the sizes of flat states with which the rule works.
constexpr int64_t flat_multiple(Optimizer optimizer) {
  return optimizer == Optimizer::adamw8bit ? kMomentBlock : 1;
}

/// Factor of the learning rate of a matrix [rows, columns] that is updated by an orthogonal direction.
enum class MatrixRate {
  match_rms,  // 0.2 sqrt(max(rows, columns)): steps as large as those of AdamW (Liu et al., arXiv:2502.16982)
  original,   // sqrt(max(1, rows / columns)) (Jordan et al., 2024)
};

/// Numbers of an update rule: the rates of its running means, and the addend of its denominator.
struct UpdateNumbers {
  std::optional<double> beta1 = {}, beta2 = {}, eps = {}, momentum = {};
};
/// Returns the default numbers of a rule. Numbers that the rule does not read are absent.
UpdateNumbers default_numbers(Optimizer optimizer);

struct ApplyOptimizerOptions {
  Optimizer optimizer = Optimizer::adamw;
  double learning_rate = 1e-3;  // initial value of the state "learning_rate", which the host sets
  /// The term weight_decay * parameter is added to the gradient; in lamb to the direction of the step. adamw
  /// instead multiplies the parameter by 1 - learning_rate * weight_decay (decoupled decay).
  double weight_decay = 0;
  bool decay_all = false;      // true: decay all parameters, also those that are declared without decay
  bool keep_gradients = true;  // store the gradient in the state "gradients"; false: in temporary memory
  double clip_norm = 0;        // largest global norm of the gradient; 0: no limit
  std::optional<double> beta1 = {}, beta2 = {}, eps = {}, momentum = {};  // absent: default_numbers()
  double dampening = 0;                                                   // momentum
  bool nesterov = false;                                                  // momentum
  double learning_rate_decay = 0, initial_accumulator_value = 0;          // adagrad
  /// Factors by names of parameters (parameter_groups.h), each "PATTERN=FACTOR": of the learning rate, and of
  /// weight_decay, also of parameters that are declared without decay.
  std::vector<std::string> rate_of = {}, decay_of = {};
  /// Factor of the learning rate per layer, counted from the last layer; 1: all layers learn alike.
  double layer_decay = 1;
  double ema = 0;  // decay of a running mean of the parameters, at which the model is evaluated; 0: none
  MatrixRate matrix_rate = MatrixRate::match_rms;  // muon, normuon
  double adamw_rate = 1;                    // muon, normuon: factor of the rate of all other parameters
  std::vector<std::string> adamw_for = {};  // muon, normuon: patterns of names of other parameters
  std::vector<std::string> matrices = {};   // muon, normuon: names, by make_training_entries
  LossScaling scaling = {};
};
template <typename Field>
void visit_options(Field& field, ApplyOptimizerOptions& o) {
  static constexpr std::array<std::string_view, 2> kMatrixRates = {"match-rms", "original"};
  static constexpr std::array<std::string_view, 2> kDecays = {"declared", "all"};
  field("optimizer", NamedOption{o.optimizer, kOptimizerNames}), field("learning_rate", o.learning_rate);
  field("weight_decay", o.weight_decay), field("decay", NamedOption{o.decay_all, kDecays});
  field("keep_gradients", o.keep_gradients), field("clip_norm", o.clip_norm);
  field("beta1", o.beta1), field("beta2", o.beta2), field("eps", o.eps);
  field("momentum", o.momentum), field("dampening", o.dampening), field("nesterov", o.nesterov);
  field("learning_rate_decay", o.learning_rate_decay);
  field("initial_accumulator_value", o.initial_accumulator_value);
  field("rate_of", o.rate_of), field("decay_of", o.decay_of), field("layer_decay", o.layer_decay);
  field("ema", o.ema);
  field("matrix_rate", NamedOption{o.matrix_rate, kMatrixRates}), field("adamw_rate", o.adamw_rate);
  field("adamw_for", o.adamw_for), field("matrices", o.matrices);
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
