// LLVM modules of kernels, and the library that they are linked to.
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
// Kernel IR -> machine code: every kernel becomes void NAME(const KernelArgs*, int64_t begin, int64_t end)
// over a part of its range, vectorised over the innermost column axis; all kernels together one shared
// object.

/// A shared object that exports the kernels by name and needs no library. Kernels are compiled on as many
/// threads as the machine has; the bytes do not depend on their number. Throws Error with the kernel's name.
std::vector<std::byte> compile_kernels(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);

/// Return readable text: LLVM IR after optimisation, and assembly.
std::string emit_llvm_text(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);
std::string emit_assembly(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);

// ---- link.cpp
// Object files -> one shared object, by lld in this process.

/// Links objects to a shared object. Throws Error with lld's message, also for any symbol that the objects do
/// not define. Concurrent calls run one after the other.
std::vector<std::byte> link_shared_object(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects);

// ---- loops.cpp
// Counted loops in LLVM IR.

/// for (i = begin; i < end; i += step) body(i), i64; leaves the builder after the loop.
void emit_loop(llvm::IRBuilder<>& b, llvm::Value* begin, llvm::Value* end, int64_t step,
               llvm::function_ref<void(llvm::Value*)> body);
/// if (condition) body(). A constant condition makes no branch.
void emit_if(llvm::IRBuilder<>& b, llvm::Value* condition, llvm::function_ref<void()> body);

}  // namespace smelt
