// Arithmetic of the evaluator: rounding to a type, functions on bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/evaluate/bounded.h"
#include "ir/ops/op.h"
#include "runtime/base/dtype.h"

namespace smelt {

// ---- rounding.cpp
// Rounding of numbers to storage types.

/// Returns the nearest number of a floating-point type (ties to even, overflow to infinity); for an integer
/// type the whole number towards zero; for a boolean 0 or 1.
double round_to(DType type, double x);

/// Returns the largest change of x by rounding to bf16 or f16; 0 for other types and for a number that the
/// type represents.
double rounding_error(DType type, const Bounded& x);

/// Returns x or one of its two bf16 neighbours: 16 random bits are added below the cut, so that the
/// expectation is x.
float round_stochastically(float x, uint32_t bits);

// ---- bounded_functions.cpp
// Scalar operations and reductions over bounded numbers.

/// Returns op(a, b, c); operands beyond the op's arity are ignored.
Bounded apply_bounded(ScalarOp op, const Bounded& a, const Bounded& b, const Bounded& c);

/// Returns the results of a reduction over a row of elements.
std::vector<Bounded> reduce_bounded(ReduceOp op, const std::vector<Bounded>& row);

}  // namespace smelt
