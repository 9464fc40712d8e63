// The LLVM function of one kernel. Blocks become loop nests over their axes; the innermost column axis (the
// *inner* axis) is cut into vectors, the last of which is masked. An instruction is emitted in the outermost
// loop that it can be in: only values that change along the inner axis are vectors, the others are scalars.
#pragma once

#include "codegen/cpu/target.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/Module.h"

namespace smelt {

void emit_kernel(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

}  // namespace smelt
