// Several launches as one step of a program.
#pragma once

#include "ir/program.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// A step that runs `kernel` on the arguments of all parts, one after the other, and stands for them.
Step join_steps(int kernel, llvm::ArrayRef<Step> parts);
/// Kernels that no step runs go.
void drop_unused_kernels(Program& program);

}  // namespace smelt
