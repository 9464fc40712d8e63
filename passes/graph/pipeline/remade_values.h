// Values that each part of a pipeline recomputes instead of receiving them from an earlier part.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Recomputed values of a forward graph. A value is recomputed if that takes no matrix product and no more
/// parameter elements than it has itself, at the symbols' bounds: several stages then have to keep these
/// parameters equal, once per update, while the value would be sent once per micro-batch.
class RemadeValues {
 public:
  explicit RemadeValues(const Graph& graph);
  bool is_remade(const Value* value) const;
  /// Returns whether the value depends on no parameter and no matrix product.
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
