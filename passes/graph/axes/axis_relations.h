// Relations between the axes of a graph's values. Axes of two values are in one class (axis_classes.h) if one
// loop of an operation, such as an elementwise op or a reduction, iterates over both. An axis can be split
// into several axes, as a reshape does; all axes of a class are then split alike.
#pragma once

#include "ir/analysis/op_dims.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "passes/graph/axes/axis_classes.h"

namespace smelt {

/// Axis classes of all values of one graph.
class AxisRelations {
 public:
  using Axes = AxisClasses::Axes;

  /// Computes the classes of all axes. Ignores nodes that cannot be computed on split axes, such as reshapes,
  /// matmuls and attention. Also ignores nodes with a sharded result.
  explicit AxisRelations(const Graph& graph);

  /// Returns whether the node puts axes into one class. Such a node computes the same values after its axes
  /// are split.
  bool relates(const Node& node) const { return relates_.contains(&node); }
  /// Returns the number in `classes` (AxisClasses::add) of the axis of each dim of the value.
  const Axes& axes(const Value* value) const { return axes_.find(value)->second; }
  /// Returns the value's shape after each axis is split as its class is.
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
