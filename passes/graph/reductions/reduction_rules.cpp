// Rules about single reductions and the rows around them; sums are taken apart in linear_rules.cpp.
#include "passes/graph/reductions/reduction_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/reductions/softmax_statistic.h"

namespace smelt {
namespace {

/// The earliest forward value that equals `value`.
Value* forward_twin(ReductionContext& context, Value* value) {
  for (Value* member : context.numbers.members(context.numbers.of(value)))
    if (member != value && in_forward(*member->node())) return member;
  return nullptr;
}

/// A reduction, or arithmetic on reductions and constants: one value a row.
bool is_statistic(const Node& node) {
  if (node.is(Op::reduce)) return true;
  if (!node.is(Op::pointwise)) return false;
  bool any = false;
  for (const Value* operand : node.operands()) {
    if (splat(operand)) continue;
    if (!is_statistic(*operand->node())) return false;
    any = true;
  }
  return any;
}

bool same_broadcasts(const Node& a, const Node& b) {
  return a.get(attr::axes) == b.get(attr::axes) && a.operand(0)->shape() == b.operand(0)->shape();
}

}  // namespace

bool share_statistic(ReductionContext& context, Node& node) {
  if (in_forward(node) || node.anchored || !is_statistic(node)) return false;
  bool changed = false;
  for (const auto& result : node.results()) {
    if (result->users().empty() && !context.graph.is_output(result.get())) continue;
    Value* twin = forward_twin(context, result.get());
    if (!twin) continue;
    context.replace(result.get(), twin);
    changed = true;
  }
  if (changed) context.record(ReductionRule::share, node);
  return changed;
}

bool hoist_broadcast(ReductionContext& context, Node& node) {
  if (!node.is(Op::pointwise)) return false;
  Node* model = nullptr;
  for (Value* operand : node.operands()) {
    if (splat(operand)) continue;
    if (!operand->node()->is(Op::broadcast)) return false;
    if (model && !same_broadcasts(*model, *operand->node())) return false;
    model = operand->node();
  }
  if (!model) return false;
  llvm::SmallVector<Value*, 3> operands;
  for (Value* operand : node.operands()) {
    const auto constant = splat(operand);
    operands.push_back(constant
                           ? context.emit.splat(*constant, {operand->dtype(), model->operand(0)->shape()})
                           : operand->node()->operand(0));
  }
  Value* small = context.emit.pointwise(node.scalar_op, operands);
  context.record(ReductionRule::hoist, node);
  context.replace(node.result(),
                  context.emit.broadcast(small, model->get(attr::axes), node.result()->shape()));
  return true;
}

bool sum_constant_row(ReductionContext& context, Node& node) {
  if (!node.is(ReduceOp::add) || splat(node.operand(0))) return false;
  const RowSpace space = row_space(node);
  if (context.may_be_empty(space)) return false;
  Node* row = row_broadcast(node.operand(0), space);
  if (!row) return false;
  Value* sum = context.emit.times_count(context.emit.row_value(row, space), space);
  context.record(ReductionRule::constant_row, node);
  context.replace(node.result(), sum);
  return true;
}

bool drop_zero_sum(ReductionContext& context, Node& node) {
  if (!node.is(ReduceOp::add) || !is_float(node.result()->dtype()) || splat(node.operand(0))) return false;
  const RowSpace space = row_space(node);
  if (!context.algebra(space).sum_is_zero(node.operand(0))) return false;
  context.record(ReductionRule::zero_sum, node);
  Value* zero = context.cancelled(node, node.operand(0), space);
  context.replace(node.result(), zero ? zero : context.emit.splat(0, node.result()->type));
  return true;
}

bool pair_max_sumexp(ReductionContext& context, Node& node) {
  if (!node.is(ReduceOp::add)) return false;
  const RowSpace space = row_space(node);
  const Node* e = skip_identity(node.operand(0))->node();
  if (!e->is(ScalarOp::exp)) return false;
  const Node* difference = skip_identity(e->operand(0))->node();
  if (!difference->is(ScalarOp::sub)) return false;
  Node* row = row_broadcast(skip_identity(difference->operand(1)), space);
  if (!row) return false;
  Node* largest = skip_identity(row->operand(0))->node();
  if (!largest->is(ReduceOp::max) || !reduces_over(*largest, space) || largest->phase != node.phase)
    return false;
  Value* x = difference->operand(0);
  if (!context.numbers.same(largest->operand(0), x)) return false;
  context.emit.at(largest);
  Node* pair = context.emit.reduce(ReduceOp::max_sumexp, x, space);
  context.record(ReductionRule::max_sumexp, node);
  context.replace(largest->result(), pair->result(0));
  context.replace(node.result(), pair->result(1));
  return true;
}

// ---- exp(x - m) / s from two statistics

namespace {

/// sum(q y) becomes sum(q y) / sum(q). The second sum is 1 but for the rounding of the stored log, which is
/// common to a row: without it the gradients of scores would not add up to zero along a row.
void normalise_means(ReductionContext& context, Value* q, const RowSpace& space) {
  std::vector<Node*> means;
  for (Node* product : q->users())
    if (product->is(ScalarOp::mul))
      for (Node* mean : product->result()->users())
        if (mean->is(ReduceOp::add) && row_space(*mean) == space) means.push_back(mean);
  for (Node* mean : means) {
    context.emit.at(mean);
    Value* exact = context.emit.div(mean->result(), context.emit.sum(q, space));
    context.graph.replace_uses_if(mean->result(), exact, [&](Node& user) { return &user != exact->node(); });
  }
}

}  // namespace

bool read_log_sum_exp(ReductionContext& context, Node& node) {
  if (!node.is(ReduceOp::max_sumexp) || !in_forward(node)) return false;
  const Softmax softmax = find_softmax(node);
  if (used_otherwise(softmax)) return false;
  bool changed = false;
  for (Node* probability : softmax.probabilities) {
    const auto backward = [&](Node& user) { return in_backward(user) || in_backward(*probability); };
    Node* place = nullptr;
    for (Node* user : probability->result()->users())
      if (backward(*user)) place = in_backward(*probability) ? probability : user;
    if (!place || is_matched(probability->result(), in_backward)) continue;
    Value* q = probability_from_statistics(context.emit, softmax, *place);
    context.graph.replace_uses_if(probability->result(), q, backward);
    normalise_means(context, q, softmax.space);
    context.record(ReductionRule::log_sum_exp, *probability);
    changed = true;
  }
  return changed;
}

}  // namespace smelt
