// Rules of rewrite_reductions, and the analyses that they share.
#pragma once

#include <deque>

#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/reductions/row_algebra.h"

namespace smelt {

/// Analyses for one run of one rule over the graph. They describe the graph at the start of the run. Rewrites
/// keep every value, so value numbers and algebra stay valid, and levels only shrink.
class ReductionContext {
 public:
  ReductionContext(Graph& graph, std::vector<ReductionRewrite>* log)
      : graph(graph), numbers(graph), emit(graph, numbers), log_(log) {}

  SweepLevels& levels(const RowSpace& space);
  RowAlgebra& algebra(const RowSpace& space) { return analyses(space).algebra; }
  /// Returns whether rows may be empty at some sizes: there is then nothing to sample, and 0 times infinity
  /// is NaN.
  bool may_be_empty(const RowSpace& space) const;
  void record(ReductionRule rule, const Node& node);
  /// Returns the row sum of `summed` at the position of `node`, which cancels: 0, or NaN if a row value or an
  /// element in it is not finite. Null means zero in all rows: in backward, where the sum is added to terms
  /// made of the same values, which are NaN in that case.
  Value* cancelled(const Node& node, Value* summed, const RowSpace& space);
  /// Replaces all uses of the value; zeros propagate to its users.
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

/// Each rule tries to rewrite at one node and returns whether it did.
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
