// Rules of the pass rewrite_reductions (rewrite_reductions.h explains each), and the analyses that they
// share.
#pragma once

#include <deque>

#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/reductions/row_algebra.h"

namespace smelt {

/// Analyses for one run of a rule over the graph. They are computed from the graph at the start of the run.
/// They may also be used after rewrites during the run, because a rewrite changes no value and raises no
/// sweep level. A row is the set of elements that a reduction reduces to one result. The sweep level of a
/// value is the number of sweeps over the row that must precede the computation of the value.
class ReductionContext {
 public:
  ReductionContext(Graph& graph, std::vector<ReductionRewrite>* log)
      : graph(graph), numbers(graph), emit(graph, numbers), log_(log) {}

  SweepLevels& levels(const RowSpace& space);
  RowAlgebra& algebra(const RowSpace& space) { return analyses(space).algebra; }
  /// Returns whether there are values of the symbols for which rows have no elements. Rules then do not
  /// apply.
  bool may_be_empty(const RowSpace& space) const;
  /// Adds the rewrite to the log, if there is one.
  void record(ReductionRule rule, const Node& node);
  /// Returns a value that replaces the sum of `summed` over each row. Requires: this sum is algebraically
  /// zero, and is the value of the reduction `node` or a term of it. The new value is 0 for a row in which
  /// all values that `summed` is computed from are finite, and NaN for any other row. Returns null if the
  /// caller may use 0 for all rows. This is the case in backward if the value would only be added to
  /// values that are NaN in the same rows.
  Value* cancelled(const Node& node, Value* summed, const RowSpace& space);
  /// Replaces all uses of `from` by `to`. If `to` is the constant 0, also replaces the results of users that
  /// are then known, such as a product with `to`.
  void replace(Value* from, Value* to);

  Graph& graph;
  ValueNumbers numbers;
  RowEmitter emit;

 private:
  struct Analyses {
    RowAlgebra algebra;
    std::optional<SweepLevels> levels;  // made on first use, because it visits the whole graph
  };
  Analyses& analyses(const RowSpace& space);
  void spread_zero(Value* zero);
  std::deque<Analyses> analyses_;
  std::vector<ReductionRewrite>* log_;
};

// Each rule rewrites the graph at `node` if it applies there, and returns whether it does.
bool share_statistic(ReductionContext& context, Node& node);
bool hoist_broadcast(ReductionContext& context, Node& node);
bool sum_constant_row(ReductionContext& context, Node& node);
bool drop_zero_sum(ReductionContext& context, Node& node);
bool pair_max_sumexp(ReductionContext& context, Node& node);
bool shift_mean(ReductionContext& context, Node& node);
bool split_linear(ReductionContext& context, Node& node);
bool collect_terms(ReductionContext& context, Node& node);
bool read_log_sum_exp(ReductionContext& context, Node& node);

}  // namespace smelt
