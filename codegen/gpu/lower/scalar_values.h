// Scalar operations and conversions of the Kernel IR as thread IR. Values are computed as flags, integers of
// 32 or 64 bits, or f32; the CPU's code uses the same types.
#pragma once

#include <span>

#include "codegen/gpu/thread_ir/expression.h"

namespace smelt::gpu {

/// Returns the value as a number of another type.
Expr converted(const Expr& value, Scalar type);
/// Returns a number of the type that elements of `type` are computed in.
Expr constant(double number, DType type);
/// Returns op(operands). The operands are first converted to a common type. Callers choose another precision
/// than `exact` for results that are rounded to fewer bits when they are stored.
Expr apply(ScalarOp op, std::span<const Expr> operands, Precision precision);

}  // namespace smelt::gpu
