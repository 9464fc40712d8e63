// Sums over all rows and nothing else: a GPU walks down tiles of columns, without partial sums and a kernel
// that finishes them.
#pragma once

#include "ir/kernel.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Where the sum of a partial parameter belongs: its type, and strides of the kernel's axes.
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
