// Emits primitives for algebraic rewrites: it reuses equal values that are already in the graph, folds
// constants, gives new nodes the phase and the source of the node they serve, and can remove the nodes of
// failed attempts.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "passes/analysis.h"
#include "passes/graph/simplify/value_numbers.h"

namespace smelt {

class RowEmitter {
 public:
  RowEmitter(Graph& graph, ValueNumbers& numbers) : graph_(&graph), numbers_(&numbers) {}
  /// Sets the position: new nodes are inserted before `place` and take its phase and source.
  void at(Node* place);
  /// Sets whether new nodes are anchored.
  void anchor(bool anchored) { anchored_ = anchored; }

  Value* splat(double value, const Type& type);
  Value* pointwise(ScalarOp op, llvm::ArrayRef<Value*> operands);
  Value* add(Value* a, Value* b) { return pointwise(ScalarOp::add, {a, b}); }
  Value* sub(Value* a, Value* b) { return pointwise(ScalarOp::sub, {a, b}); }
  Value* mul(Value* a, Value* b) { return pointwise(ScalarOp::mul, {a, b}); }
  Value* div(Value* a, Value* b) { return pointwise(ScalarOp::div, {a, b}); }
  Value* scale(Value* value, double factor);
  Value* broadcast(Value* value, std::vector<int64_t> axes, Shape shape);
  /// Broadcasts a row value to the space's shape.
  Value* along(Value* row, const RowSpace& space);
  /// Returns the row value whose broadcast is constant along the row.
  Value* row_value(Node* broadcast, const RowSpace& space);
  Node* reduce(ReduceOp op, Value* value, const RowSpace& space);
  Value* sum(Value* value, const RowSpace& space) { return reduce(ReduceOp::add, value, space)->result(); }
  /// Returns the number of elements per row, as a row value.
  Value* count(const RowSpace& space, DType dtype);
  /// Return value * count and value / count.
  Value* times_count(Value* row, const RowSpace& space);
  Value* over_count(Value* row, const RowSpace& space);
  /// Returns an estimate of the row that is known before the loop over it: the mean of a few elements,
  /// because a single one may be far from the mean of all; or the first element alone if rows may be shorter.
  Value* sample(Value* value, const RowSpace& space);
  /// Returns the shift of a row: its sample, or 0 if that is infinite or NaN. Subtracting it from a row and
  /// from the row's statistics keeps the digits that a common offset would cost. The sample is between the
  /// row's smallest and largest elements, so the rounding is below that of the row's largest difference.
  Value* shift(Value* value, const RowSpace& space) { return if_finite(sample(value, space)); }
  /// Returns the sample, or 0 if it is infinite or NaN.
  Value* if_finite(Value* sample);
  /// Returns value - shift(value).
  Value* shifted(Value* value, const RowSpace& space) {
    return is_shifted(value, space) ? value : sub(value, along(shift(value, space), space));
  }
  /// Returns whether the value is x minus a broadcast of x's sample (guarded or not).
  bool is_shifted(Value* value, const RowSpace& space);

  /// Erases new nodes without users. Analyses that have visited these nodes must not be used again.
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
