// Building blocks of the update rules of the optimizers (optimizers.h).
#pragma once

#include "passes/expressions.h"
#include "passes/graph/training/averaged_parameters.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/optimizers.h"
#include "passes/graph/training/parameter_groups.h"

namespace smelt {

/// Arguments of an update rule: values with the shape of the flat state of parameters, which holds all
/// parameters one after another, and scalars of this step. `parameters` and `gradients` may have another
/// shape with as many elements, in the same order.
struct UpdateContext {
  GraphBuilder& b;
  const ApplyOptimizerOptions& options;  // with all numbers that the rule reads
  Value* parameters;                     // f32, also if the state has a narrower type
  Value* gradients;                      // as stored: the gradient is `factor` times this value
  Value* factor;                         // a scalar; null: 1
  Value* learning_rate;                  // a scalar
  Value* step;                           // a scalar: the number of this step, 1 in the first step
  Value* finite;  // a boolean scalar: false skips the update; null: no update is skipped
  State flat;     // the flat state of parameters; a copy, because declarations move the states of the module
  ParameterGroups groups;  // of the segments of `flat`

  /// Broadcasts a scalar to the shape of the flat state.
  Value* spread(Value* scalar) const { return spread(scalar, parameters); }
  /// Broadcasts a scalar to the shape of `like`.
  Value* spread(Value* scalar, Value* like) const { return everywhere(b, scalar, like->shape()); }
  /// Returns `factor` times `from`. `from` has elements of `gradients`, in any shape.
  Value* gradient(Value* from) const { return factor ? b.mul(from, spread(factor, from)) : from; }
  /// Returns the rate of each element of the flat state: `rate`, a scalar, times the factor of its parameter.
  /// `place` holds the indices of the elements in the flat state; null: all elements.
  Value* rates(Value* rate, Value* place = nullptr) const;
  /// Returns the weight decay of each element, if it has one; `like` has the shape of `place`.
  Value* weight_decays(Value* like, Value* place = nullptr) const;
  /// Returns the parameters after decoupled decay: p (1 - learning rate * weight decay).
  Value* decayed_parameters() const;
  /// Returns the whole gradient.
  Value* gradient() const { return gradient(gradients); }
  /// Returns the value of a state of the flat shape. The first call declares the state.
  Value* moment(const std::string& name, double initial = 0) const {
    declare_flat_state(b.module(), name, Role::optimizer, initial);
    return b.state(name);
  }
  /// Emits the update of a state from its value `before` to `next`. A skipped update leaves the bits of the
  /// state unchanged.
  void write(const std::string& state, Value* next, Value* before) const {
    b.update(state, finite ? b.select(spread(finite, next), next, before) : next);
  }
  /// Emits the update of the parameters, of their rounded copy, if there is one, and of their running mean,
  /// if the options ask for it. If the state itself is narrower than f32, rounds stochastically to its type.
  void write_parameters(Value* next) const;
  /// Emits the update of the running mean: mean = ema mean + (1 - ema) next. The state is the mean minus the
  /// parameters (averaged_parameters.h).
  void write_mean(Value* next) const;
  /// Throws Error unless this rank has all of every parameter, in a flat state of one dim. `what`: what the
  /// update needs, such as "whole matrices".
  void require_whole(std::string_view what) const;

  /// Returns a value with the elements of `decayed` for parameters with weight decay, and the elements of
  /// `plain` for all other parameters. `place` holds the index of each element in the flat state; null: both
  /// operands have the shape of the flat state.
  Value* where_decayed(Value* decayed, Value* plain, Value* place = nullptr) const;
};

/// Adam's moments after this step: the running means of the gradient and of its square.
struct AdamMoments {
  Value *m, *v;
};
/// Returns the moments after this step, given the moments before it and the gradient g.
AdamMoments next_moments(const UpdateContext& c, Value* m, Value* v, Value* g);
/// Returns m / (sqrt(v / (1 - beta2^step)) + eps). The caller applies the correction 1 / (1 - beta1^step).
Value* adam_direction(const UpdateContext& c, const AdamMoments& next);
/// Returns the scalar 1 - beta^step. It is computed with expm1, because a subtraction would cancel digits.
Value* bias_correction(const UpdateContext& c, double beta);

/// Emit the updates of the optimizers that have files of their own.
void adafactor(const UpdateContext& c);
void schedule_free_adamw(const UpdateContext& c);
void adamw8bit(const UpdateContext& c);
void lamb(const UpdateContext& c);
void muon(const UpdateContext& c);
void normuon(const UpdateContext& c);

}  // namespace smelt
