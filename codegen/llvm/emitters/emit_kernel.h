// The LLVM function of one kernel. Blocks become loop nests over their axes; the innermost column axis (the
// *inner* axis) is cut into vectors, the last of which is masked. An instruction stands in the outermost loop
// it can: only what moves along the inner axis is a vector, the rest are scalars.
#pragma once

#include "codegen/llvm/target.h"
#include "ir/kernel.h"
#include "llvm/IR/Module.h"

namespace smelt {

void emit_kernel(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);

}  // namespace smelt
