// Assignment of mesh axes to the factors of an operation (op_factors.h). A factor is a dim of the operation,
// such as the rows, the columns or the summed dim of a matmul. If a mesh axis is assigned to a factor, it
// "cuts" the factor: each rank along the axis computes one part of it. The assignment is chosen by the known
// shardings of operands and results. Axes are given as indices into Mesh::axes.
#pragma once

#include <memory>

#include "passes/graph/sharding/op_factors.h"

namespace smelt {

/// Known shardings of the operands and results of a node. Null: the value has no sharding yet.
struct KnownShardings {
  llvm::SmallVector<const Sharding*, 4> operands;
  llvm::SmallVector<const Sharding*, 2> results;
};

/// Assignment of one node: how the ranks divide its work.
struct Assignment {
  std::shared_ptr<const OpFactors> factors;
  std::vector<std::vector<size_t>> axes;  // for each factor: the mesh axes that cut it, outermost first

  /// Returns the sharding that operand i must have. It is never partial: if ranks have only addends of the
  /// operand, their sum is computed before the node runs.
  Sharding operand(unsigned i) const;
  /// Returns the sharding of result i. It is partial over the axes that cut a summed dim: each rank along
  /// such an axis has an addend.
  Sharding result(unsigned i) const;
  /// Returns whether the axis cuts any factor.
  bool uses(size_t axis) const;
  /// Returns the sharding of a value in the node's body.
  Sharding inside(const Value& value) const { return sharding(factors->inside.find(&value)->second); }

 private:
  Sharding sharding(const DimFactors& dims) const;
};

using Assignments = llvm::DenseMap<const Node*, Assignment>;

/// Assigns axes to one node after another. It caches the factors of nodes and the sizes of values.
class AxisAssigner {
 public:
  /// Assigns each mesh axis that occurs in a known sharding to the factor for which the fewest bytes move
  /// between ranks. An axis that can cut no factor is not used. `cost`, if not null, receives the bytes that
  /// move (moved_bytes), plus kLatencyBytes for each move.
  Assignment assign(const Node& node, const KnownShardings& known, double* cost = nullptr);
  /// Records that the value is moved to the sharding `to`. Other nodes of this phase can read the moved
  /// value, so later calls of assign() count no bytes for the same move. `by`: the node for which it is
  /// moved; null: no particular node.
  void add_move(const Value& value, Sharding to, Phase phase, const Node* by = nullptr);
  /// Removes the last move of the value that add_move recorded.
  void drop_move(const Value& value) { moves_[&value].pop_back(); }
  /// Returns whether this move of the value was recorded for another node of the same phase. If so, `node`
  /// needs no move.
  bool is_there(const Node& node, const Value& value, const Sharding& sharding) const;
  /// Returns whole_bytes(value), from a cache.
  double bytes(const Value& value);

 private:
  struct Move {
    Sharding to;
    Phase phase;
    const Node* by;
  };
  llvm::DenseMap<const Value*, std::vector<Move>> moves_;
  llvm::DenseMap<const Node*, std::shared_ptr<const OpFactors>> factors_;
  llvm::DenseMap<const Value*, double> bytes_;
};

/// Returns the sharding of a value that every rank of the mesh has whole. `rank` is the value's number of
/// dims.
Sharding replicated(int64_t rank);
/// Returns the bytes of the whole value at the symbols' upper bounds; the largest double if a symbol has no
/// bound or the number of bytes overflows.
double whole_bytes(const Value& value);
/// Bytes that are added to the cost of each move for its latency. Between GPUs of one host, all messages of
/// up to 4 MiB take about the same time.
inline constexpr double kLatencyBytes = 4 << 20;
/// Returns the approximate number of bytes that one rank receives when a value of `bytes` bytes (of the whole
/// value) changes its sharding. A copy within the rank's memory counts as the number of bytes that a link
/// between ranks transfers in the same time.
double moved_bytes(double bytes, const Sharding& from, const Sharding& to, const Mesh& mesh);

}  // namespace smelt
