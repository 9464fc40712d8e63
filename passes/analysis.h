// Facts about graphs that several passes need: kinds of nodes, values that are never negative, row spaces
// (the sets of elements, called rows, that a reduction reduces), and the number of dependent sweeps over a
// row. A sweep is one loop over all elements of a row.
#pragma once

#include <optional>
#include <vector>

#include "ir/analysis/uses.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

inline bool in_forward(const Node& node) { return node.phase == Phase::forward; }
inline bool in_backward(const Node& node) { return node.phase == Phase::backward; }

/// Returns whether the node, such as a matmul or a reshape, is never in one kernel with its neighbours.
/// Returns false for nodes without operands.
bool is_barrier(const Node& node);
/// Returns the nodes of an op in program order. The caller may change the graph while it iterates over the
/// list.
std::vector<Node*> nodes_of(const Graph& graph, Op op);
/// Returns whether the node has one operand and moves no data: reshape, slice, transpose, broadcast, windows,
/// stop_gradient.
bool is_view(const Node& node);

/// Returns whether the value is a matrix of 16-bit floats whose rows, without gaps, do not all begin at
/// multiples of 16 bytes. No library's matmul writes such rows fast; temporaries have gaps, so a kernel
/// should copy them to an output.
bool has_ragged_rows(const Value& value);

/// Returns whether the value is a float that an `eq` or `ne` node compares, directly or through views. Only
/// nodes for which `counts` returns true are examined. A pass must not recompute a compared value with other
/// rounding: the gradient of a maximum, for example, tests which elements equal the maximum bitwise.
bool is_matched(const Value* value, llvm::function_ref<bool(const Node&)> counts);

/// If `value` is the result of a chain of stop_gradient nodes, returns the operand of the first node of the
/// chain; otherwise returns `value` itself. After differentiation a stop_gradient is an identity.
Value* skip_identity(Value* value);
/// Returns whether it is proven that no element of the value is negative, for any data. Elements may be NaN.
bool non_negative(const Value* value);

/// Row space of a reduction: the shape of its operand, and the sorted axes that it reduces. A row is the set
/// of elements that are reduced to one result. A row value has one element per row: its shape is `shape`
/// without `axes`.
struct RowSpace {
  Shape shape;
  std::vector<int64_t> axes;
  bool operator==(const RowSpace&) const = default;
  bool reduces(int64_t axis) const;
  Shape row_shape() const;
  /// Returns the axes of `shape` that are not reduced. A broadcast of a row value to `shape` has these axes
  /// as its attribute `axes`.
  std::vector<int64_t> row_axes() const;
  /// Returns the number of elements per row.
  Dim count() const;
};
RowSpace row_space(const Node& reduce);
/// Returns the node that computes `value` if it is a broadcast to the space's shape whose result is constant
/// along each row; null otherwise.
Node* row_broadcast(const Value* value, const RowSpace& space);
/// Returns whether the node is a reduction with exactly this row space.
bool reduces_over(const Node& node, const RowSpace& space);
/// Returns the distinct row spaces of the graph's reductions, in order of first appearance.
std::vector<RowSpace> row_spaces(const Graph& graph);

/// Analysis of the sweeps over a row of one row space. The level of a value is the number of dependent sweeps
/// that a kernel needs before it has the value. Reductions that only sample a row (ReduceOpInfo::samples)
/// need no sweep. Sweeps before the last barrier (is_barrier) and sweeps of an earlier phase do not count,
/// because they belong to an earlier kernel.
class SweepLevels {
 public:
  SweepLevels(const Graph& graph, RowSpace space);
  /// Phase of a value, barriers before it, and sweeps since the last barrier. Values with equal phase and
  /// barriers may share a kernel.
  struct Key {
    Phase phase = Phase::forward;
    int barriers = 0, level = 0;  // level: number of sweeps
    auto operator<=>(const Key&) const = default;
  };
  /// Returns the key of a value. The value may have been added to the graph after this object was created.
  Key of(const Value* value);
  /// Returns whether `value` needs a sweep in the kernel of a node with the key `place`.
  bool depends(const Value* value, const Key& place);
  const RowSpace& space() const { return space_; }

 private:
  Key transfer(const Node& node);
  RowSpace space_;
  llvm::DenseMap<const Node*, Key> keys_;
};

/// Returns the largest sweep level of the reductions of this phase: 0 if there are none, and 1 if no
/// reduction depends on another one over the same rows.
int reduction_depth(const Graph& graph, Phase phase = Phase::forward);

}  // namespace smelt
