// The second half of a sum over a kernel's rows: the chunks' partial sums are added up in their order,
// columns in parallel. Sums over the same columns share one kernel.
#pragma once

#include "codegen/lowering/program_builder.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

struct PartialSum {
  int buffer = -1;  // [splits, columns...]
  Shape columns;
  DType dtype = DType::f32;  // of the partial sums
  Layout result;
  DType stored = DType::f32;  // of the result, rounded once, after the last addition
};

/// Appends the steps that finish the sums.
void finish_partial_sums(ProgramBuilder& builder, llvm::ArrayRef<PartialSum> sums, const Dim& splits);

}  // namespace smelt
