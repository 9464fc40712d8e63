// Compilation of kernels to a shared object by LLVM and lld, and functions that emit control flow.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codegen/cpu/target.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

namespace smelt {

// ---- emit_llvm.cpp
// Kernel IR -> machine code. Every kernel becomes a function void NAME(const KernelArgs*, int64_t begin,
// int64_t end), where KernelArgs (runtime/plan/plan.h) has the addresses and sizes of the kernel's operands.
// The function computes the items [begin, end) of the kernel's range, and is vectorised over the innermost
// column axis. An item is a row, a tile of columns or a column (emitters/range_emitter.h); Kernel::range() is
// the number of items. All kernels are linked to one shared object.

/// Returns the bytes of a shared object that exports the kernels by name and needs no library. Kernels are
/// compiled concurrently on several threads; the bytes do not depend on the number of threads. Throws Error
/// if a kernel is malformed or LLVM does not support the target.
std::vector<std::byte> compile_kernels(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);

/// Return all kernels as readable text: as LLVM IR after optimisation, and as assembly.
std::string emit_llvm_text(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);
std::string emit_assembly(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);

// ---- link.cpp
// Object files -> one shared object, by lld, which runs in this process.

/// Returns the bytes of a shared object that is linked from the bytes of object files. Throws Error with
/// lld's message if linking fails, for example because a symbol is undefined. Threads may call it
/// concurrently; it then links one shared object after the other.
std::vector<std::byte> link_shared_object(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects);

// ---- loops.cpp
// Counted loops in LLVM IR.

/// Emits for (i = begin; i < end; i += step), and calls `body` once to emit the loop's body; `i` is an i64.
/// The builder then inserts after the loop.
void emit_loop(llvm::IRBuilder<>& b, llvm::Value* begin, llvm::Value* end, int64_t step,
               llvm::function_ref<void(llvm::Value*)> body);
/// Emits if (condition), and calls `body` to emit the conditional code. A constant condition makes no branch:
/// if it is false, `body` is not called.
void emit_if(llvm::IRBuilder<>& b, llvm::Value* condition, llvm::function_ref<void()> body);

}  // namespace smelt
