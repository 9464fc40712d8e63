// Intervals of numbers that kernels compute in floating point, for indices that are made of such.
#pragma once

#include <optional>

#include "ir/op.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Every element is a number of [least, most]: finite, and no NaN.
struct RealRange {
  double least = 0, most = 0;
};

/// What is left of a number of the range where a kernel has rounded it and stored it in any float type, bf16
/// and f16 among them; nothing where it may be too large for one of them.
std::optional<RealRange> rounded(const RealRange& exact);

/// The same of whole numbers, which lose nothing where they are small.
std::optional<RealRange> whole_numbers(const RealRange& exact);

/// The range of op's results; nothing where one may be infinite or NaN, or where no rule is known.
std::optional<RealRange> real_result(ScalarOp op, llvm::ArrayRef<RealRange> operands);

}  // namespace smelt
