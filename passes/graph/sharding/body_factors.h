// Factors (op_factors.h) of a node with a body, such as the epilogue of a matmul or the score_mod of an
// attention: the body's nodes relate the dims of its arguments and results to the dims of the operation.
#pragma once

#include "passes/graph/sharding/op_factors.h"

namespace smelt {

/// Completes `factors`, which has the factors of the operation itself: adds those of the body's arguments, of
/// the values in the body (OpFactors::inside) and of the results that the body returns. `handed` holds the
/// dims of the values that the operation passes to the body, such as the product of a matmul. A factor
/// becomes Factor::Kind::whole, which is never cut, if a node of the body needs the elements of other ranks
/// along it.
void add_body(const Node& node, llvm::ArrayRef<DimFactors> handed, OpFactors& factors);

}  // namespace smelt
