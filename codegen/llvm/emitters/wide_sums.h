// Two-level sums: short sums in f32, and f64 sums to which they are added. The error of the total is that of
// a short sum, however long the total is, and infinities and NaN need no care.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// Sets the f64 sums of `width` elements at a pointer to zero.
void zero_wide_sums(llvm::IRBuilder<>& b, llvm::Value* wide, int width);
/// wide += sums; sums = 0.
void add_to_wide_sums(llvm::IRBuilder<>& b, llvm::Value* sums, llvm::Value* wide, int width);
/// sums = wide + sums, rounded once.
void round_wide_sums(llvm::IRBuilder<>& b, llvm::Value* sums, llvm::Value* wide, int width);

}  // namespace smelt
