// split_phases: splits the work of a pipeline part on a micro-batch (pipeline_entries.h) into a forward and a
// backward entry. K is the number of the part, and J = K + 1 is the next part. Part K reads the values
// values.K.0, values.K.1, ... of the part before it; I is the number of such a value, and gradients.K.I is
// its gradient:
//
//   graph @loss.K  ->  graph @forward.K    reads the inputs and values.K.I
//                                          returns values.J.I, and saved.K.0, saved.K.1, ... for backward
//                      graph @backward.K   reads the inputs, values.K.I, values.J.I, saved.K.I, gradients.J.I
//                                          returns gradients.K.I, and adds parameter gradients to states
//
// Runs after rematerialize, which has chosen the values that backward reads from forward. Inputs, states,
// parameters, concats of parameters, constants and views are not saved, because backward reads or makes them
// itself. A value that forward returns as values.J.I is not saved again. Other micro-batches may run between
// the two entries, so the caller keeps the values that backward reads. Ensures: both entries, run one after
// the other, compute the results of the graph.
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct SplitPhasesOptions {
  std::string loss = "loss";  // name of the graph whose parts are split
};
template <typename Field>
void visit_options(Field& field, SplitPhasesOptions& o) {
  field("loss", o.loss);
}
bool split_phases(Module& module, const SplitPhasesOptions& options = {});

/// Returns the name of value `number` of those that `part` saves: "saved.3.0".
std::string saved_name(int64_t part, size_t number);

}  // namespace smelt
