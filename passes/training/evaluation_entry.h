// make_evaluation_entry: adds @evaluate, the loss without training.
//
// A description may have a graph @evaluate of its own. Where it has none, it gets one: the graph of the loss
// without its dropouts. It has the same inputs and outputs (loss_sum, token_count).
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace smelt {

/// Adds the graph before composites are decomposed; true where it was not there. Nothing happens without a
/// graph of the name `loss`.
bool make_evaluation_entry(Module& module, std::string_view loss);

}  // namespace smelt
