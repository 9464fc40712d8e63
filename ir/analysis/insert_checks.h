// Legality of inserts in a kernel: they store in any order, so no other node of their kernel may read their
// target.
#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns a sentence for --explain-fusion why one kernel cannot compute the nodes because of their inserts;
/// empty if it can.
std::string refusal_of_inserts(llvm::ArrayRef<const Node*> nodes,
                               llvm::function_ref<bool(const Value*)> is_output);

/// Returns the numbers of an insert's operands that are views of its target: no kernel can read them while it
/// writes.
std::vector<unsigned> operands_in_target(const Node& insert);

}  // namespace smelt
