// LLVM modules of kernels, their optimisation and their object files.
#pragma once

#include <memory>

#include "codegen/cpu/target.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

namespace smelt {

/// Returns a module with the kernels' functions, verified but not optimised.
std::unique_ptr<llvm::Module> emit_module(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target,
                                          llvm::TargetMachine& machine, llvm::LLVMContext& context);

/// Optimises the module: promotes variables to registers, simplifies, and hoists loop invariants. Code is not
/// vectorised here, because the emitters write vector code.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

/// Returns the bytes of an object file or the text of assembly, as `type` specifies.
llvm::SmallVector<char, 0> generate_code(llvm::Module& module, llvm::TargetMachine& machine,
                                         llvm::CodeGenFileType type);

}  // namespace smelt
