// Differences that must not be contracted with the product before them.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {

/// Whether an instruction subtracts a stored or reduced value of the row from a product, such as scores
/// q k * scale less their maximum, or the reverse. The maximum is a rounded product: a fused multiply-add
/// would subtract it from an unrounded one, and the largest element would be up to half of its last digit
/// above the maximum, which at 1e10 is 512.
bool subtracts_statistic(const Kernel& kernel, const KernelShape& shape, int id);

}  // namespace smelt
