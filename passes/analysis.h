// Facts about graphs that several passes need: splat constants, row spaces, and the number of consecutive
// reductions over one row space.
#pragma once

#include <optional>
#include <vector>

#include "ir/analysis/uses.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

inline bool in_forward(const Node& node) { return node.phase == Phase::forward; }
inline bool in_backward(const Node& node) { return node.phase == Phase::backward; }

/// Returns whether no kernel computes the node together with its neighbours (matmul, reshape, ...); false for
/// leaves.
bool is_barrier(const Node& node);
/// Returns the nodes of an op in program order, as a list that stays valid while the graph changes.
std::vector<Node*> nodes_of(const Graph& graph, Op op);
/// Returns whether the node moves no data: reshape, slice, transpose, broadcast, stop_gradient.
bool is_view(const Node& node);

/// Returns whether a node selected by `counts` tests the float for equality, perhaps through views. The value
/// must then be bitwise equal to the one from which the other side was computed: the gradient of a maximum
/// tests which elements are equal to it.
bool is_matched(const Value* value, llvm::function_ref<bool(const Node&)> counts);

/// Returns the value that stop_gradient nodes pass on; they mean nothing once a graph is differentiated.
Value* skip_identity(Value* value);
/// Returns true if the value cannot be negative for any data (except NaN).
bool non_negative(const Value* value);

/// Row space of a reduction: the shape of its operand and the sorted axes that it removes. A value of that
/// shape that does not vary along the axes is constant along the row; the shape without the axes is that of
/// row values.
struct RowSpace {
  Shape shape;
  std::vector<int64_t> axes;
  bool operator==(const RowSpace&) const = default;
  bool reduces(int64_t axis) const;
  Shape row_shape() const;
  /// Returns the axes that stay, which are the axes of a row value's broadcast.
  std::vector<int64_t> row_axes() const;
  /// Returns the number of elements per row.
  Dim count() const;
};
RowSpace row_space(const Node& reduce);
/// Returns the broadcast node of a value that is constant along the space's axes, if it has the space's
/// shape; else null.
Node* row_broadcast(const Value* value, const RowSpace& space);
/// Returns whether the node reduces over exactly this space.
bool reduces_over(const Node& node, const RowSpace& space);
/// Returns all spaces of the graph's reductions, in order of first appearance.
std::vector<RowSpace> row_spaces(const Graph& graph);

/// Number of dependent sweeps over a row space that a value needs. `first` costs none. Sweeps before a
/// barrier, or of the forward phase if the value belongs to the backward one, are in another kernel and do
/// not count.
class SweepLevels {
 public:
  SweepLevels(const Graph& graph, RowSpace space);
  struct Key {
    Phase phase = Phase::forward;
    int barriers = 0, level = 0;
    auto operator<=>(const Key&) const = default;
  };
  /// Returns the key of a value, which may be newer than this object.
  Key of(const Value* value);
  /// Returns true if `value` needs a sweep that shares a kernel with the node that reads `place`.
  bool depends(const Value* value, const Key& place);
  const RowSpace& space() const { return space_; }

 private:
  Key transfer(const Node& node);
  RowSpace space_;
  llvm::DenseMap<const Node*, Key> keys_;
};

/// Returns the largest sweep level of any reduction of the phase in the graph: 1 if all reductions over a row
/// are independent of each other.
int reduction_depth(const Graph& graph, Phase phase = Phase::forward);

}  // namespace smelt
