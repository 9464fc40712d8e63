// Intervals of floating-point numbers in kernels, for indices that are computed from them.
#pragma once

#include <optional>

#include "ir/ops/op.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Every element is in [least, most]: finite, and not NaN.
struct RealRange {
  double least = 0, most = 0;
};

/// Returns the range after a kernel has rounded its numbers and stored them in any float type, including bf16
/// and f16; nothing if they may be too large for one of these.
std::optional<RealRange> rounded(const RealRange& exact);

/// The same for whole numbers, which are exact if they are small.
std::optional<RealRange> whole_numbers(const RealRange& exact);

/// Returns the range of op's results; nothing if one may be infinite or NaN, or if no rule is known.
std::optional<RealRange> real_result(ScalarOp op, llvm::ArrayRef<RealRange> operands);

}  // namespace smelt
