// The loop nest of a fusion's body: which axes it runs over, which axis each dim of each value follows, and
// whether one kernel can compute it. `fuse` asks before it builds a fusion, `lower` reads the answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

struct IterationSpace {
  enum class Role : uint8_t { parallel, column, reduced };
  struct Axis {
    Dim extent;
    Role role = Role::parallel;
  };
  /// Parallel axes first, then reduced ones, then column axes, each group in the order of the values' dims.
  std::vector<Axis> axes;
  /// For every dim of a value the axis it follows; -1 for a dim that no axis moves along (the gathered dim of
  /// a gather's table).
  llvm::DenseMap<const Value*, std::vector<int>> dims;
  /// For every node the block it belongs to: 0 before any reduction's result is needed, 1 after the first
  /// reductions...
  llvm::DenseMap<const Node*, int> level;
  int levels = 1;

  /// How a reduce node of the body is computed.
  enum class Reduction : uint8_t {
    row,      // over all column axes: a row scalar that the body may read
    first,    // the element at column 0, a row scalar known before any pass
    column,   // over all parallel axes, keeping the columns: accumulated a chunk at a time, only an output
    full,     // over all axes: a row reduction whose rows are accumulated, only an output
    segment,  // over the reduced axes of a kernel without row reductions: read by later column blocks
  };
  llvm::DenseMap<const Node*, Reduction> reductions;

  bool has_axis(const Value* value, int axis) const;
  bool is_row(const Value* value) const;  // follows parallel axes only
};

/// The space of a body, or why there is none (a sentence for --explain-fusion).
struct IterationSpaceResult {
  std::optional<IterationSpace> space;
  std::string reason;
};
IterationSpaceResult iteration_space(const Graph& body);

}  // namespace smelt
