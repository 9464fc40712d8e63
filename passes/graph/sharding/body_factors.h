// Factors (op_factors.h) of a node with a body, such as the epilogue of a matmul or the score_mod of an
// attention. A factor of an operation is a size that dims of its operands and results have in common, such as
// m, n or k of a matmul. Ranks share the work of an operation by cutting one of its factors.
#pragma once

#include "passes/graph/sharding/op_factors.h"

namespace smelt {

/// Completes `factors`, which has the factors of the operation itself: adds those of the body's arguments, of
/// the values in the body (OpFactors::inside) and of the results that the body returns. `handed` holds the
/// factors of the dims of the values that the operation passes to the body, such as the product of a matmul.
/// If a node of the body needs all elements along a factor, the factor gets Factor::Kind::whole: it is never
/// cut.
void add_body(const Node& node, llvm::ArrayRef<DimFactors> handed, OpFactors& factors);

}  // namespace smelt
