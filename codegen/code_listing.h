// Kernels as the text of their target, for people.
#pragma once

#include <string>

#include "ir/kernel.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// LLVM IR after optimisation. Throws Error where this build has no code generator for the CPU.
std::string llvm_listing(llvm::ArrayRef<const Kernel*> kernels);

/// The processor that code for the CPU is made for, and the version of its code generator; "none" without
/// one.
std::string cpu_code_target();
std::string cpu_code_generator();

}  // namespace smelt
