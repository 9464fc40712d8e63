// Differences that must not be contracted with the product before them.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {

/// Returns whether an instruction subtracts a stored or reduced value of the row from a product, such as
/// scores q k * scale minus their maximum, or the reverse. The maximum is a rounded product. A fused
/// multiply-add would subtract it from an unrounded product, and the largest element would exceed the maximum
/// by up to half of its last digit, which at 1e10 is 512.
bool subtracts_statistic(const Kernel& kernel, const KernelShape& shape, int id);

}  // namespace smelt
