// A reduction in progress: the addresses of its state, and of the scratch arrays of a softmax or of a long
// sum.
#pragma once

#include "codegen/cpu/reducer.h"

namespace smelt {

/// Scratch memory of a max_sumexp, the reduction that computes the maximum m and the sum of exp(x - m). If
/// later blocks of the kernel read the exponentials, `array` has an element for each column of a row, and
/// each x in it is replaced by exp(x - maximum up to its tile). Otherwise `array` holds the x of one tile.
struct Exponentials {
  llvm::Value* array = nullptr;
  llvm::Value* maximum = nullptr;  // address of the maximum so far
  /// Address of one number per tile; null if no later block reads the array. While the row is processed, a
  /// tile's number is the maximum up to that tile. At the end of the row it becomes the factor that scales
  /// the tile's exponentials to the row's maximum.
  llvm::Value* scales = nullptr;
};

struct Accumulator {
  int id = -1;  // number of the reduce instruction
  ReduceOp op{};
  llvm::Type* type = nullptr;  // of one element
  Reducer::State state = {};   // address of each scalar of the state, on the stack
  /// Address of the second-level sums of a sum with many terms; null for other reductions. After every few
  /// terms, the state is added to these sums and set to zero.
  llvm::Value* wide = nullptr;
  llvm::Type* wide_type = nullptr;  // of an element of `wide`: f32 or f64
  Exponentials exponentials = {};

  bool has_exponentials() const { return exponentials.array != nullptr; }
};

}  // namespace smelt
