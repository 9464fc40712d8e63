// Addresses of the memory of a reduction, for the code that is emitted: of its running values (its state),
// and of the scratch arrays of a softmax or of a sum with many terms.
#pragma once

#include "codegen/cpu/reducer.h"

namespace smelt {

/// Scratch memory of a max_sumexp, the reduction that computes the maximum m and the sum of exp(x - m). If
/// later blocks of the kernel read the exponentials, `array` has an element for each column of a row. The
/// code replaces each x in `array` by exp(x - t), where t is the maximum of the row's columns up to the end
/// of the tile that contains x. If no later block reads the exponentials, `array` holds the x of one tile.
struct Exponentials {
  llvm::Value* array = nullptr;
  llvm::Value* maximum = nullptr;  // address of the maximum so far
  /// Address of one number per tile; null if no later block reads the array. While the row is processed, a
  /// tile's number is the maximum up to that tile. At the end of the row it becomes the factor that scales
  /// the tile's exponentials to the row's maximum.
  llvm::Value* scales = nullptr;
};

/// The memory of one reduce instruction of the block for which code is being emitted.
struct Accumulator {
  int id = -1;  // number of the reduce instruction
  ReduceOp op{};
  llvm::Type* type = nullptr;  // of one reduced element: f32, i32 or i64
  /// For each scalar of the state, the address of an array on the stack. The array has one element per lane,
  /// or one per column of a tile if the block reduces along other axes than the columns.
  Reducer::State state = {};
  /// For a sum with many terms: the address of its wide sums; null for other reductions. After each tile, or
  /// after a fixed number of terms, the state is added to the wide sums and set to zero (wide_sums.cpp).
  llvm::Value* wide = nullptr;
  llvm::Type* wide_type = nullptr;  // of an element of `wide`: f32 or f64
  Exponentials exponentials = {};

  bool has_exponentials() const { return exponentials.array != nullptr; }
};

}  // namespace smelt
