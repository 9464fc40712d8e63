// Loop nest of a fusion's body: its axes, the axis of each dim of each value, and whether one kernel can
// compute it. `fuse` uses it before it builds a fusion, and `lower` reads the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

struct IterationSpace {
  struct Axis {
    Dim extent;
    AxisKind kind = AxisKind::parallel;
  };
  /// Kind of a reduction, which determines its code.
  enum class Reduction : uint8_t {
    row,      // over all column axes: a row scalar that later blocks may read
    first,    // from fixed columns: a row scalar known before the block that computes its operand
    column,   // over all parallel axes, keeping columns: a partial sum per chunk, only an output (or rounded
              // to one)
    full,     // over all parallel axes of a row scalar, or over every axis: a partial sum a chunk, only an
              // output (or rounded to one)
    segment,  // over the reduced axes of a kernel without row reductions: later column blocks read it
  };
  using Axes = llvm::SmallVector<int, 4>;

  /// Axes in the order of the dims of the widest value.
  std::vector<Axis> axes;
  /// Per dim of a result the axis it follows.
  llvm::DenseMap<const Value*, Axes> results;
  /// Per dim of operand i of a node the axis it follows, because uses of one outside value may follow
  /// different axes. -1: no axis iterates over this dim (the gathered dim of a gather's table).
  llvm::DenseMap<const Node*, llvm::SmallVector<Axes, 3>> operands;
  /// Block of a node: 0 before any reduction's result is needed, 1 after the first reductions, ...
  llvm::DenseMap<const Node*, int> level;
  int levels = 1;
  llvm::DenseMap<const Node*, Reduction> reductions;

  bool follows(const Axes& dims, AxisKind kind) const;
  int count(AxisKind kind) const;
};

/// Iteration space of nodes, or a sentence for --explain-fusion why there is none.
struct IterationSpaceResult {
  std::optional<IterationSpace> space;
  std::string reason;
};

/// Finds the iteration space of `nodes`, which are in program order. A value that none of them defines is
/// read from memory. `is_output` selects the results that other nodes read, which must be stored.
IterationSpaceResult iteration_space(llvm::ArrayRef<const Node*> nodes,
                                     llvm::function_ref<bool(const Value*)> is_output);
/// Finds the iteration space of a fusion's body: its inputs are read from memory, its outputs are stored.
IterationSpaceResult iteration_space(const Graph& body);

}  // namespace smelt
