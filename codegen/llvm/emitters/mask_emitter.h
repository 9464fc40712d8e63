// The second function of a part of attention, NAME.sees: whether the mask lets any query of a block of scores
// see a key, by interval arithmetic. It stores 0 in KernelArgs::sees where none does.
#pragma once

#include "codegen/llvm/target.h"
#include "ir/kernel.h"
#include "llvm/IR/Module.h"

namespace smelt {

void emit_sees(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

}  // namespace smelt
