// A reduction in progress: the addresses of its state, and of data that it needs if it runs tile by tile.
#pragma once

#include "codegen/cpu/reducer.h"

namespace smelt {

/// Scratch memory of a max_sumexp, the reduction that computes the maximum m and the sum of exp(x - m). If
/// later blocks read the exponentials, `array` covers a row, and each operand is replaced by its exponential.
/// Otherwise `array` holds the operands of one tile.
struct Exponentials {
  llvm::Value* array = nullptr;
  llvm::Value* maximum = nullptr;  // address of the maximum so far
  /// One number per tile if later blocks read the array, else null. It is the maximum up to that tile until
  /// the row ends, and then the factor that scales the tile's exponentials to the row's maximum.
  llvm::Value* scales = nullptr;
};

struct Accumulator {
  int id = -1;  // number of the reduce instruction
  ReduceOp op{};
  llvm::Type* type = nullptr;  // of one element
  Reducer::State state = {};   // address of each scalar of the state, on the stack
  /// Second-level sums of a long sum, else null. After each short run of terms, the state is added to them
  /// and set to zero.
  llvm::Value* wide = nullptr;
  llvm::Type* wide_type = nullptr;  // of an element of `wide`: f32 or f64
  Exponentials exponentials = {};

  bool has_exponentials() const { return exponentials.array != nullptr; }
};

}  // namespace smelt
