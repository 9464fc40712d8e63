// Operations for writing the update rules of the optimizers.
#pragma once

#include "passes/expressions.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/optimizers.h"

namespace smelt {

/// Arguments of an update rule: flat values, and scalars of this step.
struct UpdateContext {
  GraphBuilder& b;
  const ApplyOptimizerOptions& options;
  Value* parameters;  // f32 for every type of the state
  Value* gradients;   // as stored; `factor` times it is the gradient
  Value* factor;      // a scalar; null: 1
  Value* learning_rate;
  Value* step;    // 1 in the first step
  Value* finite;  // a boolean scalar: false skips the update; null: never
  State flat;     // a copy: declaring states moves the module's

  Value* spread(Value* scalar) const { return spread(scalar, parameters); }
  Value* spread(Value* scalar, Value* like) const { return everywhere(b, scalar, like->shape()); }
  /// Returns elements of the gradient, given those in memory.
  Value* gradient(Value* from) const { return factor ? b.mul(from, spread(factor, from)) : from; }
  Value* gradient() const { return gradient(gradients); }
  /// Returns a state of the flat shape, declared on first use.
  Value* moment(const std::string& name, double initial = 0) const {
    declare_flat_state(b.module(), name, Role::optimizer, initial);
    return b.state(name);
  }
  /// Sets the state's next value; a skipped update leaves its bits unchanged.
  void write(const std::string& state, Value* next, Value* before) const {
    b.update(state, finite ? b.select(spread(finite, next), next, before) : next);
  }
  /// Writes the parameters and their rounded copy; without masters, rounds stochastically to the narrow
  /// state.
  void write_parameters(Value* next) const;

  /// Returns `decayed` where weight decay applies, else `plain`; `place` holds the positions of their
  /// elements in the flat state; null: all of it in order.
  Value* where_decayed(Value* decayed, Value* plain, Value* place = nullptr) const;
};

/// Adam's moments after this step.
struct AdamMoments {
  Value *m, *v;
};
AdamMoments next_moments(const UpdateContext& c, Value* m, Value* v, Value* g);
/// Returns m / (sqrt(v / (1 - beta2^t)) + eps); the correction 1 / (1 - beta1^t) is in the learning rate.
Value* adam_direction(const UpdateContext& c, const AdamMoments& next);
/// Returns 1 - beta^step, without the cancellation of the plain form.
Value* bias_correction(const UpdateContext& c, double beta);

/// lamb.cpp
void lamb(const UpdateContext& c);

}  // namespace smelt
