#include "passes/expressions.h"

#include "runtime/base/error.h"

namespace smelt {

Value* row_mean(GraphBuilder& b, Value* x) {
  Value* sum = row_sum(b, x);
  const Dim& extent = x->shape().back();
  if (auto n = extent.constant()) return scale(b, sum, 1.0 / static_cast<double>(*n));
  return b.div(sum, everywhere(b, b.extent(extent, x->dtype()), sum->shape()));
}

LogSumExp log_sum_exp_parts(GraphBuilder& b, Value* x) {
  Value* largest = row_reduce(b, ReduceOp::max, x);
  Value* e = b.exp(b.sub(x, along_row(b, largest, x->shape())));
  return {largest, b.log(row_sum(b, e))};
}

Value* log_sum_exp(GraphBuilder& b, Value* x) {
  const LogSumExp parts = log_sum_exp_parts(b, x);
  return b.add(parts.largest, parts.log);
}

Value* is_target(GraphBuilder& b, Value* logits, Value* targets) {
  Value* place = b.iota({DType::i32, logits->shape()}, last_axis(logits));
  return b.eq(b.convert(place, targets->dtype()), along_row(b, targets, logits->shape()));
}

SmoothingWeights smoothing_of(const Node& node) {
  SmoothingWeights result;
  if (node.has(attr::ignore_index)) {
    result.has_ignored = true;
    result.ignored = node.get(attr::ignore_index);
  }
  const double alpha = node.has(attr::label_smoothing) ? node.get(attr::label_smoothing) : 0;
  if (alpha == 0) return result;
  const auto classes = node.operand(0)->shape().back().constant();
  if (!classes) fail("{}: label smoothing needs a constant number of classes", node.describe());
  result.each_weight = alpha / static_cast<double>(*classes);
  result.nll_weight = 1 - alpha;
  return result;
}

void inherit_marks(const Node& from, Node& to) {
  if (to.phase == Phase::forward) to.phase = from.phase;
  to.anchored |= from.anchored;
}

InheritMarks::~InheritMarks() {
  for (Node* made = graph_.previous(place_); made && made != before_; made = graph_.previous(made))
    inherit_marks(from_, *made);
}

PhaseMark::PhaseMark(Graph& graph, Phase phase) : graph_(graph), phase_(phase) {
  for (const auto& node : graph.nodes()) before_.insert(node.get());
}

PhaseMark::~PhaseMark() {
  for (const auto& node : graph_.nodes())
    if (!before_.contains(node.get())) node->phase = phase_;
}

}  // namespace smelt
