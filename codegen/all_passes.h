// Functions that put a pass of this folder and its options into a PassCall (ir/pass.h), such as
// pass::lower(target). There is one function for each row of codegen_passes.def and kernel_passes.def.
#pragma once

#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/launches/launch_passes.h"
#include "codegen/lowering/lower.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "ir/pass.h"

namespace smelt {

/// Returns the passes of both .def files, in the order of their rows.
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

/// Returns calls of the passes of kind `gpu` (kernel_passes.def), in order. The pass `legalize` runs the same
/// passes, but first removes the results of an earlier schedule. Kernels without an earlier schedule have no
/// such results, so these calls are sufficient for them.
std::vector<PassCall> legalization();

}  // namespace smelt::pass
