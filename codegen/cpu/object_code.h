// LLVM modules of kernels, their optimisation and their object files.
#pragma once

#include <memory>

#include "codegen/cpu/target.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

namespace smelt {

/// The kernels' functions, verified, before optimisation.
std::unique_ptr<llvm::Module> emit_module(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target,
                                          llvm::TargetMachine& machine, llvm::LLVMContext& context);

/// Optimises the modules. The emitter writes vectors itself, so this only promotes variables, cleans up and
/// hoists.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

/// An object file or assembly.
llvm::SmallVector<char, 0> generate_code(llvm::Module& module, llvm::TargetMachine& machine,
                                         llvm::CodeGenFileType type);

}  // namespace smelt
