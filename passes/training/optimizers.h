// The update rules of the optimisers, as pointwise code over flat values, with PyTorch's semantics.
#pragma once

#include <optional>
#include <string_view>

#include "ir/builder.h"
#include "passes/training/loss_scale.h"

namespace smelt {

enum class Optimizer { sgd, momentum, adagrad, adam, adamw, lamb };
std::string_view name(Optimizer optimizer);
std::optional<Optimizer> parse_optimizer(std::string_view name);

struct ApplyOptimizerOptions {
  Optimizer optimizer = Optimizer::adamw;
  double learning_rate = 1e-3;  // the first value of the state "learning_rate", which the host sets
  double weight_decay = 0;      // added to the gradient; in lamb to the direction, in adamw apart
  bool decay_all = false;       // not only parameters whose `decay` is set
  bool keep_gradients = true;   // in the state "gradients"; else its memory serves the forward pass too
  double clip_norm = 0;         // the largest global norm of the gradient; 0: any
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;                  // adam, adamw, lamb; eps of adagrad too
  double momentum = 0.9, dampening = 0;                           // momentum
  bool nesterov = false;                                          // momentum
  double learning_rate_decay = 0, initial_accumulator_value = 0;  // adagrad
  LossScaling scaling = {};
};

/// Updates "parameters", the optimiser's moments and "step" from the gradient, which is `factor` (a scalar;
/// null: 1) times the flat value `gradients`; declares the states it needs. Returns the gradient's norm
/// before clipping.
Value* build_update(GraphBuilder& b, Value* gradients, Value* factor, const ApplyOptimizerOptions& options);

}  // namespace smelt
