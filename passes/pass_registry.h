// The registry of the passes of this folder, passes.def.
#pragma once

#include "ir/pass.h"

namespace smelt {

llvm::ArrayRef<Pass> pass_table();
const PassRegistry& pass_registry();

}  // namespace smelt
