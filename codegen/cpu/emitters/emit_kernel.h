// Emission of a kernel as LLVM IR.
#pragma once

#include "codegen/cpu/target.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smelt {

// ---- emit_kernel.cpp
// The LLVM function of one kernel. Blocks become loop nests over their axes; the innermost column axis (the
// *inner* axis) is cut into vectors, the last of which is masked. An instruction is emitted in the outermost
// loop that it can be in: only values that change along the inner axis are vectors, the others are scalars.

void emit_kernel(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

// ---- wide_sums.cpp
// Two-level sums: short sums in f32, and f64 sums to which they are added. The error of the total is that of
// a short sum, at any length, and infinities and NaN need no special cases.

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

// ---- mask_emitter.cpp
// The second function of a part of attention, NAME.sees. It determines by interval arithmetic whether the
// mask lets any query of a block of scores see a key, and stores 0 in KernelArgs::sees if not.

void emit_sees(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

}  // namespace smelt
