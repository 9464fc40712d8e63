// make_evaluation_entry: adds @evaluate, the loss without dropout and without updates of states.
//
//   graph @loss(..) { .. dropout .. }    =>    graph @loss(..) { .. dropout .. }
//                                              graph @evaluate(..) { .. }
//
// If the model's description has a graph @evaluate, the pass changes nothing. Otherwise it adds the graph of
// the loss without its dropouts and updates, with the same inputs and outputs (loss_sum, token_count).
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct MakeEvaluationEntryOptions {
  std::string loss = "loss";  // name of the graph that returns the loss
};
template <typename Field>
void visit_options(Field& field, MakeEvaluationEntryOptions& o) {
  field("loss", o.loss);
}
/// Adds the graph; returns whether it was added. Does nothing without a graph of the name `loss`. Runs before
/// decompose, which decomposes dropouts.
bool make_evaluation_entry(Module& module, const MakeEvaluationEntryOptions& options = {});

}  // namespace smelt
