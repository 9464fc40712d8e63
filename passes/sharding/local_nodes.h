// One rank's computation of a node: the same operation on its parts, and for tables, positions and random
// numbers what the place of a part makes of them.
#pragma once

#include "passes/sharding/reshard.h"

namespace smelt {

/// Sizes of the whole as a rank sees them: of symbols that are cut it has a part.
class LocalSizes {
 public:
  LocalSizes(const Mesh& mesh, const SymbolCuts& cuts);
  Dim whole(const Dim& dim) const { return substitute(dim, factors_); }
  /// Throws Error where the axes do not divide it.
  Dim part(const Dim& dim, const std::vector<size_t>& axes) const;
  Shape part(const Shape& shape, const Sharding& sharding) const;
  /// Sizes in attributes, and in bodies, which every rank runs as a whole.
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
  /// Draws over these axes are micro-batches of their own.
  const std::vector<size_t>& batch_axes;
};
/// Results that lie as assignment.result(i) says.
std::vector<Value*> build_local(const LocalNode& local);

}  // namespace smelt
