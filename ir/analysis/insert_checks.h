// Legality of the fusion of insert nodes (ir/graph/insertion.h) with other nodes into one kernel. An insert
// stores the elements into its target, operand 0, in any order, so no other node of the kernel may read the
// target.
#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the reason, as a phrase for --explain-fusion, why one kernel cannot compute all of `nodes` because
/// of the inserts among them; empty if it can. `is_output` returns whether a result is stored for other
/// nodes.
std::string refusal_of_inserts(llvm::ArrayRef<const Node*> nodes,
                               llvm::function_ref<bool(const Value*)> is_output);

/// Returns the numbers of an insert's operands, other than the target, that are views of the target. A
/// kernel cannot read these operands while it writes the target.
std::vector<unsigned> operands_in_target(const Node& insert);

}  // namespace smelt
