// Legality of the fusion of insert nodes (ir/graph/insertion.h) with other nodes into one kernel. An insert
// stores elements into its target, operand 0. The order of these stores is not specified, so no other node of
// the same kernel may read the target.
#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// Checks whether one kernel can compute all of `nodes`, as far as the inserts among them are concerned.
/// Returns an empty text if it can, else the reason, as a phrase for --explain-fusion. `is_output` returns
/// whether the kernel stores a result for other nodes.
std::string refusal_of_inserts(llvm::ArrayRef<const Node*> nodes,
                               llvm::function_ref<bool(const Value*)> is_output);

/// Returns the numbers of an insert's operands, other than the target, that are views of the target. A
/// kernel cannot read these operands while it writes the target.
std::vector<unsigned> operands_in_target(const Node& insert);

}  // namespace smelt
