// Counted loops in LLVM IR.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// for (i = begin; i < end; i += step) body(i), i64; leaves the builder after the loop.
void emit_loop(llvm::IRBuilder<>& b, llvm::Value* begin, llvm::Value* end, int64_t step,
               llvm::function_ref<void(llvm::Value*)> body);
/// if (condition) body(). A constant condition makes no branch.
void emit_if(llvm::IRBuilder<>& b, llvm::Value* condition, llvm::function_ref<void()> body);

}  // namespace smelt
