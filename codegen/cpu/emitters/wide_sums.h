// Two-level sums: short sums in f32, and f64 sums to which they are added. The error of the total is that of
// a short sum, at any length, and infinities and NaN need no special cases.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// The short sums and the wide sums of `width` neighbouring elements.
struct WideSums {
  llvm::Value* sums = nullptr;
  llvm::Value* wide = nullptr;
  llvm::Type* type = nullptr;  // of a wide sum
  int width = 1;
};

/// wide = 0.
void zero_wide_sums(llvm::IRBuilder<>& b, const WideSums& at);
/// wide += sums; sums = 0.
void add_to_wide_sums(llvm::IRBuilder<>& b, const WideSums& at);
/// sums = wide + sums, rounded once.
void round_wide_sums(llvm::IRBuilder<>& b, const WideSums& at);

}  // namespace smelt
