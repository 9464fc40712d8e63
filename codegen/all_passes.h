// Functions that make calls of the passes of this folder (PassCall, ir/pass.h) from their options, such as
// pass::lower(target). Each row of codegen_passes.def and kernel_passes.def has one.
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

/// Returns calls of the passes that `legalize` runs, in the same order. Kernels that get their first schedule
/// need only these, because they have no results of an earlier schedule that `legalize` would remove.
std::vector<PassCall> legalization();

}  // namespace smelt::pass
