// freeze_parameters: parameters whose names no pattern fits are not trained.
//
// Frozen parameters cost a training plan nothing but themselves: differentiate makes no gradients of them,
// and flatten_parameters gives them a state apart, without masters, moments and sums. Contract: no graph
// changes; what was frozen before stays so.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

struct FreezeParametersOptions {
  std::vector<std::string> trained;  // patterns of whole names, "*" is any text; empty: nothing is frozen
};
/// trained = "*.bias+lm_head.*"
void set_option(FreezeParametersOptions& options, std::string_view key, std::string_view value);
/// Throws Error naming all patterns that fit no parameter, and where none is left to train.
bool freeze_parameters(Module& module, const FreezeParametersOptions& options);

}  // namespace smelt
