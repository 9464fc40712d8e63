// Factors of a node with a body: the body's nodes relate the dims of its arguments and results to those of
// the operation.
#pragma once

#include "passes/graph/sharding/op_factors.h"

namespace smelt {

/// Completes the factors of arguments, of values in the body and of the returned results. `handed`: the dims
/// of the values that the operation passes to the body. A factor for which a part of the body would need
/// other ranks is whole.
void add_body(const Node& node, llvm::ArrayRef<DimFactors> handed, OpFactors& factors);

}  // namespace smelt
