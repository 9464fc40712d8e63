// Tensors whose elements are those of another tensor in another order, or with an addend.
#pragma once

#include <vector>

#include "runtime/engine/weights/stored_rows.h"

namespace smelt {

/// Returns a tensor whose row r is row order[r] of `stored`. For a tensor of one dim, its elements are
/// reordered. Requires: `order` is a permutation.
TensorView reordered(TensorView stored, std::vector<int64_t> order);
/// Returns the transpose of a matrix.
TensorView transposed(TensorView stored);
/// Returns the tensor whose elements are f32(element + addend).
TensorView shifted(TensorView stored, float addend);

}  // namespace smelt
