// From a fused graph to a program of kernels and library steps.
#pragma once

#include <utility>
#include <vector>

#include "codegen/lowering/fusion_kernel.h"
#include "codegen/lowering/program_builder.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/target.h"
#include "llvm/ADT/ArrayRef.h"
#include "runtime/plan/plan.h"

namespace smelt {

// ---- lower.cpp
// Lowers graphs with fusions and layouts to a Program: a fusion becomes a kernel (and a finishing kernel for
// sums over its rows), a matmul a gemm step, a scatter_add a sort and a segmented kernel, and a view that has
// to move data a copy. Equal kernels are shared. The kernels have no schedules yet
// (codegen/scheduling/schedule_kernels.h).

/// All graphs of the module, each as an entry of its name, of steps that `target` has.
Program lower(const Module& module, const Target& target = {});

// ---- cut_gemms.cpp
// Matmuls of large odd extents, such as a vocabulary of 50,257, in two: cuBLASLt's kernels for extents that
// are no multiples of 8 take four times as long (docs/benchmarks.md).

/// Returns the steps that together do this one, in order. A large extent that is no multiple of 8 is split
/// into a multiple of 8 and a remainder below 8. Only matmuls of 16-bit types are split.
std::vector<GemmStep> cut_gemm(const GemmStep& step);

// ---- finish_partial_sums.cpp
// The second half of a sum over a kernel's rows: the chunks' partial sums are added up in their order,
// columns in parallel. Sums over the same columns share one kernel.

struct PartialSum {
  int buffer = -1;  // [splits, columns...]
  Shape columns;
  DType dtype = DType::f32;  // of the partial sums
  Layout result;
  DType stored = DType::f32;  // of the result, rounded once, after the last addition
};

/// Appends the steps that finish the sums.
void finish_partial_sums(ProgramBuilder& builder, llvm::ArrayRef<PartialSum> sums, const Dim& splits);

// ---- fusion_aliases.cpp
// The outputs of a fusion that may take the memory of an input.

/// Pairs of buffers, written and read, where the finished kernel reads each element, at its own place, no
/// later than it is written (Step::may_alias).
std::vector<std::pair<int, int>> aliases_of(const FusionKernel& fusion);
/// Checks that the finished kernel reads each element of an input before it writes the output that shares the
/// input's memory. Throws Error (internal) otherwise.
void check_in_place(const FusionKernel& fusion);

// ---- lowering_order.cpp
// The order in which a graph's nodes become steps: the program's, except that who writes a state's memory
// comes after all who read its old content there.

/// Requires: assign_layout has run. Throws Error (internal) that names two nodes which wait for each other.
std::vector<const Node*> lowering_order(const Graph& graph);

}  // namespace smelt
