// Small facts about graphs that several passes ask for: splat constants, row spaces, and how many
// reductions over one row space stand behind each other.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

inline bool in_forward(const Node& node) { return node.phase == Phase::forward; }
inline bool in_backward(const Node& node) { return node.phase == Phase::backward; }

/// Whether no kernel computes the node together with its neighbours (matmul, reshape, ...); false for leaves.
bool is_barrier(const Node& node);
/// The nodes of an op in program order, as a list that stays valid while the graph changes.
std::vector<Node*> nodes_of(const Graph& graph, Op op);
/// Whether the node moves no data: reshape, slice, transpose, broadcast, stop_gradient.
bool is_view(const Node& node);

/// Whether a node that `counts` tests the float for equality, perhaps behind views. It must then be the very
/// same bits that the other side was made from: the gradient of a maximum asks which elements are equal to
/// it.
bool is_matched(const Value* value, llvm::function_ref<bool(const Node&)> counts);

/// The one value of a constant (or of a broadcast of one), if it has one.
std::optional<double> splat(const Value* value);
/// The same where it is a whole number of 32 bits.
std::optional<int64_t> whole_splat(const Value* value);
/// The value behind stop_gradient nodes, which mean nothing once a graph is differentiated.
Value* skip_identity(Value* value);
/// True when the value cannot be negative whatever the data (NaN aside).
bool non_negative(const Value* value);

/// What a reduction runs over: the shape of its operand and the sorted axes that it removes. A value of that
/// shape that does not vary along the axes is constant along the row; the shape without the axes is the shape
/// of row values.
struct RowSpace {
  Shape shape;
  std::vector<int64_t> axes;
  bool operator==(const RowSpace&) const = default;
  bool reduces(int64_t axis) const;
  Shape row_shape() const;
  /// The axes that stay: where a row value's dims go in a broadcast.
  std::vector<int64_t> row_axes() const;
  /// Elements in a row.
  Dim count() const;
};
RowSpace row_space(const Node& reduce);
/// A broadcast to the space's shape that is constant along its axes, as a node; else null.
Node* row_broadcast(const Value* value, const RowSpace& space);
/// Reduces over exactly this space.
bool reduces_over(const Node& node, const RowSpace& space);
/// All spaces of the graph's reductions, in order of first appearance.
std::vector<RowSpace> row_spaces(const Graph& graph);

/// How many dependent sweeps over a row space a value needs. `first` costs none. Sweeps before a barrier, or
/// of the forward phase when the value belongs to the backward one, happen in another kernel and do not
/// count.
class SweepLevels {
 public:
  SweepLevels(const Graph& graph, RowSpace space);
  struct Key {
    Phase phase = Phase::forward;
    int barriers = 0, level = 0;
    auto operator<=>(const Key&) const = default;
  };
  /// Values made after construction are allowed, too.
  Key of(const Value* value);
  /// True when `value` needs a sweep that shares a kernel with the node that reads `place`.
  bool depends(const Value* value, const Key& place);
  const RowSpace& space() const { return space_; }

 private:
  Key transfer(const Node& node);
  RowSpace space_;
  llvm::DenseMap<const Node*, Key> keys_;
};

/// The largest sweep level of any reduction of the phase in the graph: 1 when all reductions over a row are
/// independent of each other.
int reduction_depth(const Graph& graph, Phase phase = Phase::forward);

}  // namespace smelt
