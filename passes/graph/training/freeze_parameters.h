// freeze_parameters: freezes the parameters whose names match no pattern.
//
// Frozen parameters cost a training plan only their own memory: differentiate makes no gradients of them, and
// flatten_parameters gives them a separate state, without masters, moments and sums. Ensures: no graph
// changes; frozen parameters stay frozen.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct FreezeParametersOptions {
  std::vector<std::string> trained;  // patterns of whole names, "*" is any text; empty: nothing is frozen
};
template <typename Field>
void visit_options(Field& field, FreezeParametersOptions& o) {
  field("trained", o.trained);
}
/// Freezes the parameters. Throws Error with all patterns that match no parameter, and if none is left to
/// train.
bool freeze_parameters(Module& module, const FreezeParametersOptions& options);

}  // namespace smelt
