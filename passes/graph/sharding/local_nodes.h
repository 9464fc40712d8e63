// Construction of the nodes that one rank computes for a node of the whole graph. They apply the same
// operation to the rank's parts of the operands. Lookups in sharded tables, position numbers (iota) and
// random numbers also depend on the position of the rank's part.
#pragma once

#include "passes/graph/sharding/reshard.h"

namespace smelt {

/// Translation of sizes of the whole graph into sizes of one rank. The size of a sharded dim may be a symbol,
/// such as B. After partition, this symbol means the size of one rank's part; it is then called a cut symbol.
class LocalSizes {
 public:
  /// Requires: `mesh` outlives this object. `cuts` has the mesh axes along which each cut symbol is divided.
  LocalSizes(const Mesh& mesh, const SymbolCuts& cuts);
  /// Returns the whole size for `dim`, a size of one rank: each cut symbol is multiplied by its number of
  /// parts.
  Dim whole(const Dim& dim) const { return substitute(dim, factors_); }
  /// Returns the size of a rank's part of a dim that is sharded along the mesh axes `axes`. Throws Error if
  /// the size of the dim is not a multiple of the number of ranks along these axes.
  Dim part(const Dim& dim, const std::vector<size_t>& axes) const;
  Shape part(const Shape& shape, const Sharding& sharding) const;
  /// Replaces each size in the node's attributes and in its body by whole(size).
  void rewrite_attributes(Node& node) const;

 private:
  const Mesh& mesh_;
  std::map<std::string, Dim, std::less<>> factors_;
};

/// Arguments of build_local().
struct LocalNode {
  const Node& node;  // of the whole graph
  const Assignment& assignment;
  llvm::ArrayRef<Value*> operands;  // this rank's, with the shardings of assignment.operand(i)
  const LocalSizes& sizes;
  GraphBuilder& b;
  Resharder& resharder;
  /// Mesh axes along which ranks have different parts of a batch. Each of these ranks draws different random
  /// numbers.
  const std::vector<size_t>& batch_axes;
};
/// Builds the rank's node, with collectives if it needs them, and returns its results. They have the
/// shardings of assignment.result(i).
std::vector<Value*> build_local(const LocalNode& local);

}  // namespace smelt
