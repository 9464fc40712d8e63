// Inserts store in any order, so what they write into is read by nothing else of their kernel.
#pragma once

#include <string>

#include "ir/graph.h"

namespace smelt {

/// Why one kernel cannot compute the nodes because of the inserts among them, as a sentence for
/// --explain-fusion; empty where it can.
std::string refusal_of_inserts(llvm::ArrayRef<const Node*> nodes,
                               llvm::function_ref<bool(const Value*)> is_output);

/// Operands of an insert, by number, that are views of what it writes into: no kernel can read them while it
/// writes.
std::vector<unsigned> operands_in_target(const Node& insert);

}  // namespace smelt
