// The second half of the pipeline, from prepared graphs to a program with its memory: all that depends on
// what backward computes again.
#pragma once

#include "compiler/compile.h"
#include "passes/autodiff/rematerialize.h"

namespace smelt {

struct MakeProgram {
  const CompileOptions& options;
  const Target& target;
  Compilation& result;
};

/// rematerialize, as the options' policy says, where they have no pipeline of their own.
void recompute(Module& module, const MakeProgram& make, RematerializeReport* report = nullptr);
/// Indices are proven or guarded; groups of primitives become kernels; what they leave for others is
/// narrowed; values get memory.
void fuse_and_place(Module& module, const MakeProgram& make);
/// From Compilation::fused: steps in order, their kernels' schedules, and the memory of every entry.
void make_program(const MakeProgram& make);

}  // namespace smelt
