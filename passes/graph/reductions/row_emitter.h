// Emitter of primitives for algebraic rewrites of reductions. It reuses equal values that are already in the
// graph, and folds operations with a neutral constant, such as x + 0. New nodes get the phase and the source
// of the node before which they are inserted. After a failed attempt, discard_unused removes them.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "passes/analysis.h"
#include "passes/graph/simplify/value_numbers.h"

namespace smelt {

/// Builds nodes at one position of a graph. A row is a set of elements that a reduction combines; a row value
/// has one number per row (RowSpace in passes/analysis.h). Requires: at() is called before any value is
/// emitted.
class RowEmitter {
 public:
  RowEmitter(Graph& graph, ValueNumbers& numbers) : graph_(&graph), numbers_(&numbers) {}
  /// Sets the position: new nodes are inserted before `place` and take its phase and source.
  void at(Node* place);
  /// Sets Node::anchored of new nodes: true if they recompute other nodes' results and must stay separate.
  void anchor(bool anchored) { anchored_ = anchored; }

  /// Returns a constant of this type whose elements are all `value`.
  Value* splat(double value, const Type& type);
  Value* pointwise(ScalarOp op, llvm::ArrayRef<Value*> operands);
  Value* add(Value* a, Value* b) { return pointwise(ScalarOp::add, {a, b}); }
  Value* sub(Value* a, Value* b) { return pointwise(ScalarOp::sub, {a, b}); }
  Value* mul(Value* a, Value* b) { return pointwise(ScalarOp::mul, {a, b}); }
  Value* div(Value* a, Value* b) { return pointwise(ScalarOp::div, {a, b}); }
  Value* scale(Value* value, double factor);
  Value* broadcast(Value* value, std::vector<int64_t> axes, Shape shape);
  /// Broadcasts a row value to the shape of the space: every element of a row gets the number of its row.
  Value* along(Value* row, const RowSpace& space);
  /// The inverse of along(): returns the row value whose broadcast is the result of `broadcast`. Requires:
  /// that result has the shape of the space and is constant along each row (row_broadcast in
  /// passes/analysis.h).
  Value* row_value(Node* broadcast, const RowSpace& space);
  Node* reduce(ReduceOp op, Value* value, const RowSpace& space);
  Value* sum(Value* value, const RowSpace& space) { return reduce(ReduceOp::add, value, space)->result(); }
  /// Returns the number of elements per row, as a row value.
  Value* count(const RowSpace& space, DType dtype);
  /// Return `row` multiplied, or divided, by the number of elements per row.
  Value* times_count(Value* row, const RowSpace& space);
  Value* over_count(Value* row, const RowSpace& space);
  /// Returns an estimate of each row's mean, as a row value that needs no loop over the row. It is the mean
  /// of the first four elements (ReduceOp::pivot). If rows may have fewer than four elements, it is the first
  /// element.
  Value* sample(Value* value, const RowSpace& space);
  /// Returns the shift of each row: its sample, or 0 if the sample is infinite or NaN. Statistics such as a
  /// variance are computed from the elements minus the shift. Without it, a large mean would make the
  /// rounding errors large.
  Value* shift(Value* value, const RowSpace& space) { return if_finite(sample(value, space)); }
  /// Returns the sample, or 0 if it is infinite or NaN.
  Value* if_finite(Value* sample);
  /// Returns value - shift(value).
  Value* shifted(Value* value, const RowSpace& space) {
    return is_shifted(value, space) ? value : sub(value, along(shift(value, space), space));
  }
  /// Returns whether the value is already shifted: whether it is x minus the broadcast of sample(x) or
  /// shift(x).
  bool is_shifted(Value* value, const RowSpace& space);

  /// Erases the nodes without users that were made since the last call. Analyses that have visited these
  /// nodes must not be used again.
  void discard_unused();

 private:
  struct Draft {
    Op op;
    ScalarOp scalar{};
    ReduceOp reduce{};
    Attributes attributes{};
  };
  Node* make(Draft draft, llvm::ArrayRef<Value*> operands, llvm::ArrayRef<Type> types);
  Node* earlier_twin(Node* node);
  Value* folded(ScalarOp op, llvm::ArrayRef<Value*> operands);

  Graph* graph_;
  ValueNumbers* numbers_;
  Node* place_ = nullptr;
  bool anchored_ = false;
  std::vector<Node*> made_;
};

}  // namespace smelt
