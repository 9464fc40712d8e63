// Arithmetic of the evaluator: rounding to element types, and operations on bounded numbers. A bounded number
// is a value with a bound on the error of its computation in f32 (bounded.h).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/evaluate/bounded.h"
#include "ir/ops/op.h"
#include "runtime/base/dtype.h"

namespace smelt {

// ---- rounding.cpp
// Rounding of numbers to storage types.

/// Returns x rounded to a type. For a float type it is the nearest number (ties to even, overflow to
/// infinity, of f8e4m3 to the largest number). For an integer type, x is truncated towards zero but not
/// wrapped. For booleans the result is 0 or 1.
double round_to(DType type, double x);

/// Returns the largest change that rounding to bf16, f16 or f8e4m3 can make to a number within the bounds of
/// x. If x has no error, returns the change of x itself. Returns 0 for other types.
double rounding_error(DType type, const Bounded& x);

/// Returns x rounded stochastically to bf16: the 16 low bits of `bits` are added to the bits of x, and the 16
/// low bits of the sum are cut off. With random bits, the expectation is x. NaN stays NaN.
float round_stochastically(float x, uint32_t bits);

// ---- bounded_functions.cpp
// Scalar operations and reductions over bounded numbers.

/// Returns op(a, b, c) with its error bound; operands beyond the op's arity are ignored.
Bounded apply_bounded(ScalarOp op, const Bounded& a, const Bounded& b, const Bounded& c);

/// Returns the results of a reduction over the elements of `row`.
std::vector<Bounded> reduce_bounded(ReduceOp op, const std::vector<Bounded>& row);

}  // namespace smelt
