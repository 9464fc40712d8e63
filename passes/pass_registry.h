// The registry of the passes of this folder. The file passes.def lists them.
#pragma once

#include "ir/pass.h"

namespace smelt {

/// Returns the rows of passes.def, in its order.
llvm::ArrayRef<Pass> pass_table();
/// Returns the registry of these passes, which finds passes by name and parses pass pipelines.
const PassRegistry& pass_registry();

}  // namespace smelt
