// Functions that put a pass of this folder and its options into a PassCall (ir/pass.h), such as
// pass::lower(target). There is one function for each row of codegen_passes.def and kernel_passes.def.
#pragma once

#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/launches/launch_passes.h"
#include "codegen/lowering/lower.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "ir/pass.h"

namespace smelt {

/// Returns the passes of both .def files in one table, in the order of their rows.
llvm::ArrayRef<Pass> codegen_pass_table();

}  // namespace smelt

namespace smelt::pass {

// `name` is the name of the pass and of the function that makes its PassCall; the pass calls smelt::name, or
// smelt::function for a row of kernel_passes.def.
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

/// Returns calls of the passes of kind `gpu` in the order of kernel_passes.def: the passes that adapt a
/// kernel to its GPU schedule. They are sufficient for kernels that get their first schedule. If the schedule
/// of a kernel is replaced, the pass `legalize` must run instead: it undoes what these passes did for the
/// former schedule, and then runs these passes again.
std::vector<PassCall> legalization();

}  // namespace smelt::pass
