// The factors of a node with a body: what stands in it joins the dims of its arguments and results to those
// of the operation.
#pragma once

#include "passes/sharding/op_factors.h"

namespace smelt {

/// Completes the factors of arguments, of values in the body and of the results that it returns. `handed`:
/// the dims of what the operation hands to the body. What a part of a body would need other ranks for is
/// whole.
void add_body(const Node& node, llvm::ArrayRef<DimFactors> handed, OpFactors& factors);

}  // namespace smelt
