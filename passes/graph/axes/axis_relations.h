// Relations between axes: axes of two values are one axis if an elementwise or row-wise node iterates over
// them together.
#pragma once

#include "ir/analysis/op_dims.h"
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
  bool stays_whole(const Node& node, const DimFactor& factor, llvm::ArrayRef<int> same) const;
  void unite(int a, int b) { classes.match({a}, {b}); }

  llvm::DenseMap<const Value*, Axes> axes_;
  llvm::DenseSet<const Node*> relates_;
};

}  // namespace smelt
