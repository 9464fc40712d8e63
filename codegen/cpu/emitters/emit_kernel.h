// Emission of a kernel as LLVM IR.
#pragma once

#include "codegen/cpu/target.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smelt {

// ---- emit_kernel.cpp
// The LLVM function of one kernel. The blocks of the kernel become loop nests over their axes. The innermost
// column axis (the *inner* axis) is cut into vectors; the last vector is masked if it is not whole. An
// instruction is emitted at the least loop depth at which its operands and indices are known. So values that
// change along the inner axis are vectors, and all other values are scalars.

/// Adds the function of the kernel to `module`. If the kernel computes a part of attention (AttentionPart),
/// also calls emit_sees.
void emit_kernel(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

// ---- wide_sums.cpp
// Two-level sums: the terms are added to short sums of a few terms each, in f32, and the short sums are added
// to a wide sum. Wide sums are f64, or f32 if there are few short sums. With f64, the error of the total does
// not grow with the number of terms.

/// The addresses of `width` independent two-level sums, such as those of `width` adjacent columns.
struct WideSums {
  llvm::Value* sums = nullptr;  // address of the short sums, f32
  llvm::Value* wide = nullptr;  // address of the wide sums
  llvm::Type* type = nullptr;   // of a wide sum: f32 or f64
  int width = 1;
};

/// Emits wide = 0.
void zero_wide_sums(llvm::IRBuilder<>& b, const WideSums& at);
/// Emits wide += sums; sums = 0.
void add_to_wide_sums(llvm::IRBuilder<>& b, const WideSums& at);
/// Emits sums = wide + sums, rounded once to f32.
void round_wide_sums(llvm::IRBuilder<>& b, const WideSums& at);

// ---- mask_emitter.cpp
// The second function of a kernel NAME that computes a part of attention: NAME.sees. It finds by interval
// arithmetic whether the mask excludes a whole block of scores, whose rows are queries and whose columns are
// keys.

/// Adds the function to `module`. Called for a block of scores, the function stores the state of the mask in
/// *KernelArgs::sees: 0 if no query may attend to any key of the block, 2 if every query may attend to every
/// key, else 1 (mixed or unknown).
void emit_sees(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

}  // namespace smelt
