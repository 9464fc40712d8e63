// The loop nest of a fusion's body: which axes it runs over, which axis each dim of each value follows, and
// whether one kernel can compute it. `fuse` asks before it builds a fusion, `lower` reads the answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

struct IterationSpace {
  struct Axis {
    Dim extent;
    AxisKind kind = AxisKind::parallel;
  };
  /// How a reduce node is computed.
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

  /// In the order of the dims of the widest value.
  std::vector<Axis> axes;
  /// For every dim of a result the axis it follows.
  llvm::DenseMap<const Value*, Axes> results;
  /// The same for operand i of a node, since uses of one outside value may follow different axes. -1 means
  /// that no axis runs along this dim (the gathered dim of a gather's table).
  llvm::DenseMap<const Node*, llvm::SmallVector<Axes, 3>> operands;
  /// The block a node belongs to: 0 before any reduction's result is needed, 1 after the first reductions,
  /// ...
  llvm::DenseMap<const Node*, int> level;
  int levels = 1;
  llvm::DenseMap<const Node*, Reduction> reductions;

  bool follows(const Axes& dims, AxisKind kind) const;
  int count(AxisKind kind) const;
};

/// The space of some nodes, or a sentence for --explain-fusion that says why there is none.
struct IterationSpaceResult {
  std::optional<IterationSpace> space;
  std::string reason;
};

/// `nodes` in program order; a value defined by none of them is read from memory; `is_output` tells which
/// results are read elsewhere and so must be stored.
IterationSpaceResult iteration_space(llvm::ArrayRef<const Node*> nodes,
                                     llvm::function_ref<bool(const Value*)> is_output);
/// Of a fusion's body: its inputs are read from memory, its outputs are stored.
IterationSpaceResult iteration_space(const Graph& body);

}  // namespace smelt
