// The operations that the update rules of the optimisers are written with.
#pragma once

#include "passes/expressions.h"
#include "passes/training/flatten_parameters.h"
#include "passes/training/optimizers.h"

namespace smelt {

/// What a rule sees: flat values, and scalars of this step.
struct UpdateContext {
  GraphBuilder& b;
  const ApplyOptimizerOptions& options;
  Value* parameters;  // f32, whatever the state's type
  Value* gradients;   // as it lies in memory; `factor` times it is the gradient
  Value* factor;      // a scalar; null: 1
  Value* learning_rate;
  Value* step;    // 1 in the first step
  Value* finite;  // a boolean scalar: false skips the update; null: never
  State flat;     // a copy: declaring states moves the module's

  Value* spread(Value* scalar) const { return spread(scalar, parameters); }
  Value* spread(Value* scalar, Value* like) const { return everywhere(b, scalar, like->shape()); }
  /// The gradient's elements at some places, from the memory's.
  Value* gradient(Value* from) const { return factor ? b.mul(from, spread(factor, from)) : from; }
  Value* gradient() const { return gradient(gradients); }
  /// A state of the flat shape, declared on first use.
  Value* moment(const std::string& name, double initial = 0) const {
    declare_flat_state(b.module(), name, Role::optimizer, initial);
    return b.state(name);
  }
  /// Sets the state's next value; a skipped update leaves the very same bits.
  void write(const std::string& state, Value* next, Value* before) const {
    b.update(state, finite ? b.select(spread(finite, next), next, before) : next);
  }
  /// Also to the rounded copy; without masters stochastically to the narrow state.
  void write_parameters(Value* next) const;

  /// `decayed` where weight decay applies, else `plain`; `place` holds the places of their elements in the
  /// flat state, null: all of it in order.
  Value* where_decayed(Value* decayed, Value* plain, Value* place = nullptr) const;
};

/// Adam's moments after this step.
struct AdamMoments {
  Value *m, *v;
};
AdamMoments next_moments(const UpdateContext& c, Value* m, Value* v, Value* g);
/// m / (sqrt(v / (1 - beta2^t)) + eps); the correction 1 / (1 - beta1^t) is in the learning rate.
Value* adam_direction(const UpdateContext& c, const AdamMoments& next);
/// 1 - beta^step, without the cancellation of the plain form.
Value* bias_correction(const UpdateContext& c, double beta);

/// lamb.cpp
void lamb(const UpdateContext& c);

}  // namespace smelt
