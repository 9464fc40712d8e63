// Which values each part of a pipeline makes for itself, rather than to get them from an earlier part.
#pragma once

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Of a forward graph. A value is made again where that takes no matrix product and no more elements of
/// parameters than it has itself, at the symbols' bounds: these would have to be kept the same on several
/// stages, once an update, and the value sent for each micro-batch.
class RemadeValues {
 public:
  explicit RemadeValues(const Graph& graph);
  bool is_remade(const Value* value) const;
  /// Whether no parameter is behind it, and no matrix product.
  bool is_made_of_inputs(const Value* value) const;

 private:
  struct Cost {
    bool multiplies = false;
    llvm::SmallDenseSet<const Node*, 2> parameters = {};
  };
  const Symbols& symbols_;
  llvm::DenseMap<const Node*, Cost> costs_;
};

}  // namespace smelt
