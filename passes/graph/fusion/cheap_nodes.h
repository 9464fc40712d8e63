// Cheap nodes: fuse copies them into every kernel that reads them, instead of storing their results.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Set of cheap nodes: broadcasts, nodes that depend on no memory (masks, constants, random bits), and
/// transpositions of values that inserts store, because an insert can store in any order.
class CheapNodes {
 public:
  explicit CheapNodes(const Graph& graph);
  bool contains(const Node& node) const {
    return node.is(Op::broadcast) || is_from_nothing(node) || is_turned_for_insert(node);
  }
  bool is_from_nothing(const Node& node) const { return from_nothing_.contains(&node); }

 private:
  bool depends_on_nothing(const Node& node) const;
  static bool is_turned_for_insert(const Node& node);

  llvm::DenseSet<const Node*> from_nothing_;
};

/// Gives every use of a cheap node its own copy, so that uses along different axes do not relate these axes.
void split_cheap_nodes(Graph& graph);

}  // namespace smelt
