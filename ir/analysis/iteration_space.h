// Loop nest (iteration space) of a fusion's body: its axes, and the axis that iterates over each dim of each
// value (the dim "follows" the axis). The analysis also decides whether one kernel can compute the body. The
// pass `fuse` runs the analysis before it builds a fusion. The pass `lower` builds the kernel
// (ir/kernel/kernel.h) from the result of the analysis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Loop nest of one kernel. A row is one combination of indices of the parallel axes. For each row, the
/// kernel runs a sequence of blocks: code on scalars of the row, or loops over the column axes. If there are
/// reduced axes, a block may loop over these for each column (ir/kernel/kernel.h).
struct IterationSpace {
  /// Axis of the loop nest.
  struct Axis {
    Dim extent;
    AxisKind kind = AxisKind::parallel;
  };
  /// Kind of a reduction, by the axes that it reduces. For the kinds `column` and `full`, the kernel computes
  /// only partial sums, which a later step adds up. So the body must not use the results of these reductions,
  /// except to round them for storing.
  enum class Reduction : uint8_t {
    row,     // over all column axes: a scalar per row, which later blocks may read
    first,   // as `row`, but reads only one column (the op `first`) or four columns (the op `pivot`)
    column,  // over all parallel axes: one partial sum per column and chunk of rows
    /// Over all axes of the reduced value: one partial sum per chunk of rows. The value may have columns, or
    /// be a scalar per row.
    full,
    /// Over the reduced axes: one value per row and column, which later column blocks may read. The kernel
    /// then has no row reductions.
    segment,
  };
  using Axes = llvm::SmallVector<int, 4>;

  /// Axes in the order of the dims of the value with the most dims.
  std::vector<Axis> axes;
  /// For each result: the axis (an index into `axes`) that each of its dims follows.
  llvm::DenseMap<const Value*, Axes> results;
  /// For each node and each of its operands: the axis that each dim follows. It is stored per use, because
  /// uses of one outside value may follow different axes. -1: no axis iterates over the dim, such as the
  /// gathered dim of a table.
  llvm::DenseMap<const Node*, llvm::SmallVector<Axes, 3>> operands;
  /// Number of the kernel block that computes a node: 0 if the node needs no result of a row or segment
  /// reduction, 1 if it needs a result of a reduction in block 0, ...
  llvm::DenseMap<const Node*, int> level;
  int levels = 1;  // number of such blocks
  llvm::DenseMap<const Node*, Reduction> reductions;

  /// Returns whether one of these dims follows an axis of this kind.
  bool follows(const Axes& dims, AxisKind kind) const;
  /// Returns the number of axes of this kind.
  int count(AxisKind kind) const;
};

/// An iteration space, or the reason why there is none.
struct IterationSpaceResult {
  std::optional<IterationSpace> space;
  std::string reason;  // a phrase for --explain-fusion; empty if there is a space
};

/// Finds the iteration space of `nodes`, which are in program order. Values that none of the nodes defines
/// are read from memory. `is_output` returns whether a result must be stored, because other nodes read it.
IterationSpaceResult iteration_space(llvm::ArrayRef<const Node*> nodes,
                                     llvm::function_ref<bool(const Value*)> is_output);
/// Finds the iteration space of a fusion's body: its inputs are read from memory, its outputs are stored.
IterationSpaceResult iteration_space(const Graph& body);

}  // namespace smelt
