// The passes of this folder as calls with options: pass::lower(target), for every row of codegen_passes.def
// and kernel_passes.def.
#pragma once

#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/launches/launch_passes.h"
#include "codegen/lowering/lower.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "ir/pass.h"

namespace smelt {

llvm::ArrayRef<Pass> codegen_pass_table();

}  // namespace smelt

namespace smelt::pass {

#define SMELT_PASS(name, ...)                                    \
  inline PassCall name(PassOptions<&smelt::name> options = {}) { \
    return call_of<&smelt::name>(#name, std::move(options));     \
  }
#define SMELT_KERNEL_PASS(name, function, ...)                       \
  inline PassCall name(PassOptions<&smelt::function> options = {}) { \
    return call_of<&smelt::function>(#name, std::move(options));     \
  }
#include "codegen/codegen_passes.def"
#include "codegen/kernel_passes/kernel_passes.def"

/// Returns the passes that `legalize` runs, in order, on kernels that have had no schedule before.
std::vector<PassCall> legalization();

}  // namespace smelt::pass
