// Computation of a node on one rank: the same operation on its parts; tables, positions and random numbers
// also depend on the position of the part.
#pragma once

#include "passes/graph/sharding/reshard.h"

namespace smelt {

/// Translates sizes of the whole mesh into those of one rank: a cut symbol means the rank's part.
class LocalSizes {
 public:
  LocalSizes(const Mesh& mesh, const SymbolCuts& cuts);
  Dim whole(const Dim& dim) const { return substitute(dim, factors_); }
  /// Returns the part of a dim. Throws Error if the axes do not divide it.
  Dim part(const Dim& dim, const std::vector<size_t>& axes) const;
  Shape part(const Shape& shape, const Sharding& sharding) const;
  /// Rewrites sizes in attributes and in bodies, which every rank runs as a whole.
  void rewrite_attributes(Node& node) const;

 private:
  const Mesh& mesh_;
  std::map<std::string, Dim, std::less<>> factors_;
};

struct LocalNode {
  const Node& node;  // of the whole graph
  const Assignment& assignment;
  llvm::ArrayRef<Value*> operands;  // as the assignment needs them
  const LocalSizes& sizes;
  GraphBuilder& b;
  Resharder& resharder;
  /// Mesh axes along which random draws are those of separate micro-batches.
  const std::vector<size_t>& batch_axes;
};
/// Builds the node; its results have the shardings of assignment.result(i).
std::vector<Value*> build_local(const LocalNode& local);

}  // namespace smelt
