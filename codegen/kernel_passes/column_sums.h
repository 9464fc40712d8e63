// Kernels that only sum over all rows: a GPU loops down tiles of columns, so it needs no partial sums and no
// kernel that finishes them.
#pragma once

#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// The destination of the sum of a partial parameter: its type, and its strides along the kernel's axes.
struct ColumnSum {
  int param = -1;
  DType dtype = DType::f32;
  std::vector<Dim> strides = {};
};

/// Rewrites a kernel that has parallel and column axes, one column block, and accumulates along the columns
/// alone: its rows become reduced axes, its accumulations reductions, and its partial parameters take the
/// sums, rounded once. Each of them is in `sums`. False, and nothing changed, for other kernels.
bool sum_columns_in_tiles(Kernel& kernel, llvm::ArrayRef<ColumnSum> sums);

}  // namespace smelt
