// Relations between axes: axes of two values are one axis if an elementwise or row-wise node iterates over
// them together.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "passes/graph/axes/axis_classes.h"

namespace smelt {

class AxisRelations {
 public:
  using Axes = AxisClasses::Axes;

  /// Relates the axes of all values. Reshapes, matmuls, attention and other ops with their own axis order
  /// relate none.
  explicit AxisRelations(const Graph& graph);

  /// Returns whether the node computes the same if its axes are split.
  bool relates(const Node& node) const { return relates_.contains(&node); }
  const Axes& axes(const Value* value) const { return axes_.find(value)->second; }
  /// Returns the value's shape with every axis split as its class is.
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
