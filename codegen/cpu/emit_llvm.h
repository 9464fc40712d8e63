// Kernel IR -> machine code: every kernel becomes void NAME(const KernelArgs*, int64_t begin, int64_t end)
// over a part of its range, vectorised over the innermost column axis; all kernels together one shared
// object.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codegen/cpu/target.h"
#include "codegen/kernel_passes/launch_dims.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// A shared object that exports the kernels by name and needs no library. Kernels are compiled on as many
/// threads as the machine has; the bytes do not depend on their number. Throws Error with the kernel's name.
std::vector<std::byte> compile_kernels(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);

/// Return readable text: LLVM IR after optimisation, and assembly.
std::string emit_llvm_text(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);
std::string emit_assembly(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target);

}  // namespace smelt
