// join_sums: joins small all_reduces over the same ranks that one `pack` reads into one all_reduce of their
// concat.
//
//   pack (all_reduce %a), (all_reduce %b)    =>    %s = all_reduce (concat %a, %b), then slices of %s
//
// Ranks that share sequences have addends of the gradients of every norm and bias. Each separate sum takes as
// long as one of a megabyte does. Requires: operands of a pack do not depend on each other's sums. Ensures:
// elements keep their addends, so no value changes.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct JoinSumsOptions {
  int64_t most_bytes = 1 << 20;  // of a sum that is joined
};
template <typename Field>
void visit_options(Field& field, JoinSumsOptions& o) {
  field("most_bytes", o.most_bytes);
}
bool join_sums(Graph& graph, const JoinSumsOptions& options);

}  // namespace smelt
