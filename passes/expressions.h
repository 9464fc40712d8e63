// Functions that build small expressions, for decompositions and derivatives, and functions that set the
// marks of new nodes. The marks are Node::phase and Node::anchored. A node with Node::anchored is never
// merged with an equal node.
#pragma once

#include <numeric>

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Returns x * factor.
inline Value* scale(GraphBuilder& b, Value* x, double factor) { return b.mul(x, b.like(x, factor)); }
/// Returns x + term.
inline Value* shift(GraphBuilder& b, Value* x, double term) { return b.add(x, b.like(x, term)); }
inline Value* zeros(GraphBuilder& b, const Type& type) { return b.constant(0, type); }

/// Converts bf16 and f16 to f32. Returns values of other types unchanged. Statistics, norms and losses are
/// computed in f32.
inline Value* widened(GraphBuilder& b, Value* x) {
  return x->dtype() == DType::bf16 || x->dtype() == DType::f16 ? b.convert(x, DType::f32) : x;
}

/// Returns 0, 1, ... count - 1.
inline std::vector<int64_t> leading_axes(int64_t count) {
  std::vector<int64_t> axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}
inline int64_t last_axis(const Value* x) { return x->rank() - 1; }
/// Returns a reduction over the last axis.
inline Value* row_reduce(GraphBuilder& b, ReduceOp op, Value* x) { return b.reduce(op, x, {last_axis(x)}); }
inline Value* row_sum(GraphBuilder& b, Value* x) { return row_reduce(b, ReduceOp::add, x); }
/// Broadcasts `row` along the last axis of `shape`. The shape of `row` is `shape` without this axis.
inline Value* along_row(GraphBuilder& b, Value* row, const Shape& shape) {
  return b.broadcast_over(row, {static_cast<int64_t>(shape.size()) - 1}, shape);
}
/// Broadcasts a scalar to `shape`.
inline Value* everywhere(GraphBuilder& b, Value* scalar, const Shape& shape) {
  return b.broadcast(scalar, {}, shape);
}
/// Broadcasts a vector, which has one element per index of the last axis of `shape`, to `shape`.
inline Value* along_last(GraphBuilder& b, Value* vector, const Shape& shape) {
  return b.broadcast(vector, {static_cast<int64_t>(shape.size()) - 1}, shape);
}

/// Returns the mean of x over the last axis.
Value* row_mean(GraphBuilder& b, Value* x);
/// The two terms of log sum exp x = m + log sum exp(x - m) over the last axis, with m = max x.
struct LogSumExp {
  Value *largest, *log;  // m and log sum exp(x - m)
};
/// Returns both terms. (x - m) - log has a smaller rounding error than x - (m + log).
LogSumExp log_sum_exp_parts(GraphBuilder& b, Value* x);
Value* log_sum_exp(GraphBuilder& b, Value* x);
/// Returns a boolean value of the shape of `logits`. An element is true if its index along the last axis is
/// the target of its row.
Value* is_target(GraphBuilder& b, Value* logits, Value* targets);

/// Weights of cross_entropy, from its attributes. With nll_j the negative log probability of class j and k
/// the target class, the loss of a row is nll_weight * nll_k + each_weight * sum_j nll_j. If `has_ignored`,
/// rows with the target `ignored` have no loss.
struct SmoothingWeights {
  double nll_weight = 1, each_weight = 0;
  bool has_ignored = false;
  int64_t ignored = 0;
};
SmoothingWeights smoothing_of(const Node& cross_entropy);

/// Copies the marks of `from` to the node `to` that replaces it. The phase is copied only if the phase of
/// `to` is `forward`.
void inherit_marks(const Node& from, Node& to);

/// Copies the marks of `from` to all nodes that are built directly before `place` during the object's life.
/// The destructor copies them.
class InheritMarks {
 public:
  InheritMarks(Graph& graph, const Node* place, const Node& from)
      : graph_(graph), place_(place), from_(from), before_(graph.previous(place)) {}
  ~InheritMarks();
  InheritMarks(const InheritMarks&) = delete;
  InheritMarks& operator=(const InheritMarks&) = delete;

 private:
  Graph& graph_;
  const Node* place_;
  const Node& from_;
  const Node* before_;
};

/// Sets the phase of all nodes of the graph that are made during the object's life. The destructor sets it.
class PhaseMark {
 public:
  PhaseMark(Graph& graph, Phase phase);
  ~PhaseMark();
  PhaseMark(const PhaseMark&) = delete;
  PhaseMark& operator=(const PhaseMark&) = delete;

 private:
  Graph& graph_;
  Phase phase_;
  llvm::DenseSet<const Node*> before_;
};

}  // namespace smelt
