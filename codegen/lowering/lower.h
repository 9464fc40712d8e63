// Lowering of fused graphs to a Program, which consists of kernels and library steps.
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
// A fusion (a group of nodes that run in one kernel) becomes one kernel. If the fusion has sums over rows,
// the kernel stores partial sums, and a second kernel adds them up. A matmul becomes a gemm step. A
// scatter_add becomes a sort of its indices and a kernel that sums segments of rows with the same index. A
// view that cannot be expressed by strides becomes a copy. Kernels that are equal except for names are stored
// once. The kernels have no schedules yet: schedule_kernels chooses them
// (codegen/scheduling/schedule_kernels.h).

/// Lowers every graph of the module to an entry with the graph's name. Uses only the kinds of steps that
/// `target` supports. Requires: values have layouts (assign_layout).
Program lower(const Module& module, const Target& target = {});

// ---- cut_gemms.cpp
// Splits matmuls with a large extent that is not a multiple of 8, such as a vocabulary of 50,257. cuBLASLt's
// kernels take four times as long for such extents (docs/bench/benchmarks.md).

/// Returns steps that together compute the same as `step`, in the order in which they must run. A matmul has
/// the extents m (rows), n (columns) and k (summed). If one of them is a constant >= 4096 and not a multiple
/// of 8, it is split into a multiple of 8 and a remainder below 8. Only matmuls of 16-bit floats are split,
/// and along k only those that do not add in order (GemmStep::in_order).
std::vector<GemmStep> cut_gemm(const GemmStep& step);

// ---- finish_partial_sums.cpp
// The second half of a sum over a kernel's rows. The first kernel has stored one partial sum per chunk of
// rows; these are added up in the order of the chunks, for all columns in parallel. Sums with the same shape
// of columns are computed by one kernel.

/// A buffer of partial sums, and the layout and type in which their sum is stored.
struct PartialSum {
  int buffer = -1;  // number of the buffer, a dense array of shape [splits, columns...]
  Shape columns;
  DType dtype = DType::f32;   // type of the partial sums
  Layout result;              // layout of the sum
  DType stored = DType::f32;  // type of the sum, which is rounded once, after the last addition
};

/// Appends the steps that add up the partial sums. `splits`: the number of partial sums.
void finish_partial_sums(ProgramBuilder& builder, llvm::ArrayRef<PartialSum> sums, const Dim& splits);

// ---- fusion_aliases.cpp
// Outputs of a fusion that may share the memory of an input.

/// Returns pairs (written buffer, read buffer) that may have the same address (Step::may_alias), because the
/// kernel reads every element before it overwrites the element. Requires: the kernel is complete.
std::vector<std::pair<int, int>> aliases_of(const FusionKernel& fusion);
/// Checks each input and output that already have the same buffer and offset. Throws Error (internal) if the
/// kernel loads an element of such an input after it has stored the element to the output. Requires: the
/// kernel is complete.
void check_in_place(const FusionKernel& fusion);

// ---- lowering_order.cpp
// The order in which a graph's nodes become steps: program order, with one exception. A node that writes
// memory of a state comes after all nodes that read the old content of the memory.

/// Returns all nodes of the graph in that order. Requires: assign_layout has run. Throws Error (internal)
/// with the names of two nodes if each of them has to come before the other.
std::vector<const Node*> lowering_order(const Graph& graph);

}  // namespace smelt
