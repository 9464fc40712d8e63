// freeze_parameters: freezes (excludes from training) the parameters whose names match no pattern.
//
// Frozen parameters cost a training plan only their own memory: differentiate computes no gradients for them,
// and flatten_parameters stores them in a separate state, without f32 master copies, moments and sums of
// gradients. Ensures: no graph changes; parameters that were frozen before stay frozen.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct FreezeParametersOptions {
  /// Glob patterns of the names of trained parameters, such as "*.bias". A pattern must match a whole name.
  /// Empty: no parameter is frozen.
  std::vector<std::string> trained;
};
template <typename Field>
void visit_options(Field& field, FreezeParametersOptions& o) {
  field("trained", o.trained);
}
/// Freezes the parameters; returns whether any was not frozen before. Throws Error with all patterns that
/// match no parameter. Throws Error if all parameters are then frozen.
bool freeze_parameters(Module& module, const FreezeParametersOptions& options);

}  // namespace smelt
