// Scalar operations and reductions over bounded numbers.
#pragma once

#include <vector>

#include "ir/evaluate/bounded.h"
#include "ir/ops/op.h"

namespace smelt {

/// Returns op(a, b, c); operands beyond the op's arity are ignored.
Bounded apply_bounded(ScalarOp op, const Bounded& a, const Bounded& b, const Bounded& c);

/// Returns the results of a reduction over a row of elements.
std::vector<Bounded> reduce_bounded(ReduceOp op, const std::vector<Bounded>& row);

}  // namespace smelt
