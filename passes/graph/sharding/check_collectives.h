// check_collectives: rejects collectives that the ranks of data-parallel training cannot run together.
//
// Ranks along the batch axis have different batches, which differ in the number of records and in their
// lengths. The ranks may run @evaluate and @logits different numbers of times, some of them not at all. So a
// collective along that axis must have the same size for any batch, and @evaluate and @logits must have no
// collectives along it. Gathers of states are allowed in every entry: if an entry gathers a state, all ranks
// run it together.
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct CheckCollectivesOptions {
  std::string axis = "data";  // mesh axis along which ranks have different batches
};
template <typename Field>
void visit_options(Field& field, CheckCollectivesOptions& o) {
  field("axis", o.axis);
}
/// Checks @train_step, @accumulate, @apply, @evaluate and @logits of a partitioned module. Does nothing if
/// the mesh has no axis options.axis, or only one rank along it. Throws one Error that names every collective
/// that ranks cannot run together, with its entry, its shape and the reason.
void check_collectives(const Module& module, const CheckCollectivesOptions& options);

}  // namespace smelt
