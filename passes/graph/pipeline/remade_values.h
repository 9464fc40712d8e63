// Values that each part of a pipeline recomputes instead of receiving them from an earlier part.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Recomputed values of a forward graph. A value is recomputed if it depends on no matmul, attention or
/// collective, and if the parameters that it depends on have at most as many elements as the value, at the
/// symbols' upper bounds. Recomputing saves traffic, because the value would otherwise be sent once per
/// micro-batch. If several stages then use the parameters, they exchange the gradients of the parameters only
/// once per update. Parameters themselves count as recomputed.
class RemadeValues {
 public:
  explicit RemadeValues(const Graph& graph);
  /// Returns whether the value is recomputed.
  bool is_remade(const Value* value) const;
  /// Returns whether the value depends on no parameter, matmul, attention or collective.
  bool is_made_of_inputs(const Value* value) const;

 private:
  struct Cost {                                           // of recomputing the results of a node
    bool multiplies = false;                              // depends on a matmul, attention or collective
    llvm::SmallDenseSet<const Node*, 2> parameters = {};  // on which the node depends
  };
  const Symbols& symbols_;
  llvm::DenseMap<const Node*, Cost> costs_;
};

}  // namespace smelt
