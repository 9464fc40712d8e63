// Parameters that learn at rates of their own, or have weight decay of their own.
//
// A group is a rule "PATTERN=FACTOR", such as "*.bias=0.5": the factor of all parameters whose whole name
// fits the glob pattern. If several rules fit a name, the last one holds. Layer-wise decay of rates
// multiplies the rate of a parameter at depth d by layer_decay^(largest depth - d). The depth of layer i is i
// + 1. The number of the layer is the first number between the dots of the name, such as 3 in
// "h.3.ln_1.bias". A parameter without a number has depth 0 if it is declared before all layers, as
// embeddings are, the largest depth if it is declared after all layers, as heads are, and else the depth of
// the layer before it.
#pragma once

#include <vector>

#include "passes/graph/training/optimizers.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Factors per segment of a flat state; empty: those of the options for all parameters.
struct ParameterGroups {
  std::vector<double> rates;   // of the learning rate
  std::vector<double> decays;  // of weight_decay; 0: none
  bool empty() const { return rates.empty() && decays.empty(); }
};
/// Returns the groups that the options describe. Throws Error if a pattern fits no parameter; in a stage of a
/// pipeline, another stage may have the parameter.
ParameterGroups parameter_groups(const Module& module, const State& flat,
                                 const ApplyOptimizerOptions& options);
/// Throws Error for a rule that is not "PATTERN=FACTOR" with a factor from 0 on.
void check_groups(const ApplyOptimizerOptions& options);

}  // namespace smelt
