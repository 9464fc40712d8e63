// split_phases: splits the work of a pipeline part on a micro-batch into a forward and a backward entry.
//
//   graph @loss.K  ->  @forward.K   returns values.J.I (J = K + 1) and the values that backward needs:
//                                   saved.K.0, saved.K.1, ...
//                      @backward.K  from these, the inputs, values.K.I and gradients.J.I: gradients.K.I, and
//                                   sums
//
// Runs after rematerialize, which has chosen the saved values: forward values that backward and the update
// read. Views, constants, parameters (also joined ones) and inputs are not saved but read again. Other
// micro-batches may run between the two entries: the caller keeps the saved values, the inputs and the
// received values. Ensures: both entries, run one after the other, compute the results of the graph.
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct SplitPhasesOptions {
  std::string loss = "loss";  // the graph whose parts are split
};
template <typename Field>
void visit_options(Field& field, SplitPhasesOptions& o) {
  field("loss", o.loss);
}
bool split_phases(Module& module, const SplitPhasesOptions& options = {});

/// Returns the name of a value that part 3 saves: "saved.3.0".
std::string saved_name(int64_t part, size_t number);

}  // namespace smelt
