// A reduction under way: where its state is, and what it keeps besides while it works a tile at a time.
#pragma once

#include "codegen/llvm/reducer.h"

namespace smelt {

/// Of max_sumexp a tile at a time: the operand over a tile or a row, which becomes its exponentials.
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
