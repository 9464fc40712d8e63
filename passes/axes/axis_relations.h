// Which axes of a graph's values are one axis, because a node that works on each element, or on each row,
// moves along them together.
#pragma once

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "passes/axes/axis_classes.h"

namespace smelt {

class AxisRelations {
 public:
  using Axes = AxisClasses::Axes;

  /// Reshapes relate nothing; nor do matmuls, attention, and what else has an order of axes of its own.
  explicit AxisRelations(const Graph& graph);

  /// Whether the node would do the same along split axes.
  bool relates(const Node& node) const { return relates_.contains(&node); }
  const Axes& axes(const Value* value) const { return axes_.find(value)->second; }
  /// The value's shape with every axis split as its class is.
  Shape shape(const Value* value) const { return classes.shape(axes(value)); }
  bool is_split(const Value* value) const;

  AxisClasses classes;

 private:
  bool relate(const Node& node);
  void relate_same(const Node& node);
  void relate_broadcast(const Node& node);
  void relate_transpose(const Node& node);
  void relate_reduce(const Node& node);
  void relate_gather(const Node& node);
  void relate_along(const Node& node);
  void relate_rows(const Node& node);
  void unite(int a, int b) { classes.match({a}, {b}); }
  void unite_all(llvm::ArrayRef<int> a, llvm::ArrayRef<int> b) { classes.match(a, b); }
  void pin_last(const Value* value);

  llvm::DenseMap<const Value*, Axes> axes_;
  llvm::DenseSet<const Node*> relates_;
};

}  // namespace smelt
