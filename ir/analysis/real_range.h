// Interval arithmetic on floating-point numbers, with the rounding of kernels. It bounds indices that a graph
// computes as floats and converts to integers.
#pragma once

#include <optional>

#include "ir/ops/op.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Range of the elements of a float value: every element is finite, not NaN, and in [least, most].
struct RealRange {
  double least = 0, most = 0;
};

/// Returns the range of the numbers that a kernel stores if their exact values are in `exact`. The kernel may
/// compute and store them in any float type, including bf16 and f16. Returns nothing if a number may be too
/// large for f16.
std::optional<RealRange> rounded(const RealRange& exact);

/// Does the same for numbers that are whole. The range does not change if all are at most 256 in magnitude,
/// because every float type represents such whole numbers exactly.
std::optional<RealRange> whole_numbers(const RealRange& exact);

/// Returns the range of op's results as a kernel computes them; nothing if a result may be infinite, NaN or
/// too large for f16, or if there is no rule for op.
std::optional<RealRange> real_result(ScalarOp op, llvm::ArrayRef<RealRange> operands);

}  // namespace smelt
