// A reduction in progress: the location of its state, and the data that it keeps while it runs tile by tile.
#pragma once

#include "codegen/cpu/reducer.h"

namespace smelt {

/// The exponentials of a max_sumexp: its operand over a tile or a row, which is replaced by its exponentials.
struct Exponentials {
  llvm::Value* array = nullptr;
  llvm::Value* maximum = nullptr;  // so far
  llvm::Value* scales = nullptr;  // where later blocks read the array: a tile's maximum, in the end its scale
};

struct Accumulator {
  int id = -1;  // of the reduction
  ReduceOp op{};
  llvm::Type* type = nullptr;   // of one element
  Reducer::State state = {};    // where the scalars of the state are
  llvm::Value* wide = nullptr;  // of long sums: their wide sums, to which the state is added again and again
  llvm::Type* wide_type = nullptr;  // of one of these
  Exponentials exponentials = {};

  bool has_exponentials() const { return exponentials.array != nullptr; }
};

}  // namespace smelt
