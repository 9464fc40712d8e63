// Cheap nodes: the pass fuse copies them into the kernels that read them, instead of storing their results.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Cheap nodes of a graph. There are four kinds: broadcasts; nodes that read no memory (constants, random
/// bits, and elementwise functions of such values, such as a causal mask); single numbers that are computed
/// of parameters and constants alone, such as a temperature, in graphs that update no parameter; and
/// transposes that only `insert` nodes read, directly or through conversions. An insert can store elements in
/// any order, so it does not need the transposed value in memory.
class CheapNodes {
 public:
  explicit CheapNodes(const Graph& graph);
  bool contains(const Node& node) const {
    return node.is(Op::broadcast) || is_from_nothing(node) || of_parameters_.contains(&node) ||
           is_turned_for_insert(node);
  }
  /// Returns whether neither the node nor any node that it depends on reads memory.
  bool is_from_nothing(const Node& node) const { return from_nothing_.contains(&node); }

 private:
  bool depends_on_nothing(const Node& node) const;
  bool is_number_of_parameters(const Node& node) const;
  /// Returns whether the node is a transpose that only inserts read, directly or through conversions.
  static bool is_turned_for_insert(const Node& node);

  llvm::DenseSet<const Node*> from_nothing_, of_parameters_;
};

/// Gives every use of a cheap node its own copy. A node that is used twice could otherwise force two axes of
/// a kernel to be one axis.
void split_cheap_nodes(Graph& graph);

}  // namespace smelt
