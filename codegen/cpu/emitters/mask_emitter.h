// The second function of a part of attention, NAME.sees. It determines by interval arithmetic whether the
// mask lets any query of a block of scores see a key, and stores 0 in KernelArgs::sees if not.
#pragma once

#include "codegen/cpu/target.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/Module.h"

namespace smelt {

void emit_sees(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

}  // namespace smelt
