#include "passes/reductions/rewrite_reductions.h"

#include <memory>

#include "ir/analysis/integer_ranges.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "passes/reductions/reduction_rules.h"

namespace smelt {
namespace {

constexpr std::string_view kNames[] = {"share", "hoist",  "constant_row",    "zero_sum", "max_sumexp",
                                       "shift", "linear", "centred_squares", "collect",  "log_sum_exp"};

using Rule = bool (*)(ReductionContext&, Node&);
// In this order, again from the start until nothing changes: sums that vanish go before their kernels are
// touched, and probabilities change to the stored statistics last.
constexpr Rule kRules[] = {share_statistic, hoist_broadcast, sum_constant_row,
                           drop_zero_sum,   pair_max_sumexp, shift_mean,
                           split_linear,    collect_terms,   read_log_sum_exp};

bool is_dead(const Graph& graph, const Node& node) {
  return llvm::all_of(node.results(),
                      [&](const auto& r) { return r->users().empty() && !graph.is_output(r.get()); });
}

/// One rule over all nodes that stood in the graph at the start.
bool sweep(ReductionContext& context, Rule rule) {
  std::vector<Node*> nodes;
  for (const auto& node : context.graph.nodes()) nodes.push_back(node.get());
  bool changed = false;
  for (Node* node : nodes) {
    if (is_dead(context.graph, *node) || info(node->op()).has(Trait::effect)) continue;
    context.emit.at(node);
    changed |= rule(context, *node);
  }
  return changed;
}

/// All rules once. What the analyses know serves until something changes.
bool run_rules(Graph& graph, std::vector<ReductionRewrite>* log) {
  bool changed = false;
  auto context = std::make_unique<ReductionContext>(graph, log);
  for (Rule rule : kRules) {
    if (!sweep(*context, rule)) continue;
    changed = true;
    context->emit.discard_unused();
    graph.sort();
    graph.prune();
    context = std::make_unique<ReductionContext>(graph, log);
  }
  context->emit.discard_unused();
  return changed;
}

bool has_reductions(const Graph& graph) {
  return llvm::any_of(graph.nodes(), [](const auto& node) { return node->is(Op::reduce); });
}

}  // namespace

std::string_view name(ReductionRule rule) { return kNames[static_cast<size_t>(rule)]; }

bool rewrite_reductions(Graph& graph, const RewriteReductionsOptions& options) {
  if (!has_reductions(graph)) return false;
  bool changed = false;
  for (int i = 0; i < options.max_sweeps && run_rules(graph, options.log); ++i) changed = true;
  return changed;
}

// ---- ReductionContext

bool ReductionContext::may_be_empty(const RowSpace& space) const {
  return llvm::any_of(space.axes, [&](int64_t axis) {
    return !is_never_zero(space.shape[static_cast<size_t>(axis)], graph.module().symbols);
  });
}

void ReductionContext::record(ReductionRule rule, const Node& node) {
  if (log_) log_->push_back({rule, node.describe()});
}

namespace {

/// The row values that the value is made of within its kernel.
std::vector<Value*> rows_below(RowEmitter& emit, Value* value, const RowSpace& space) {
  std::vector<Value*> found, work = {value};
  llvm::SmallPtrSet<const Node*, 16> seen;
  while (!work.empty()) {
    Node* node = work.back()->node();
    work.pop_back();
    if (!seen.insert(node).second || is_barrier(*node) || node->is(Op::reduce)) continue;
    if (!row_broadcast(node->result(), space))
      llvm::append_range(work, node->operands());
    else if (node->result()->dtype() == value->dtype())
      found.push_back(emit.row_value(node, space));
  }
  return found;
}

bool is_sum(const Node& node) { return node.is(ScalarOp::add) || node.is(ScalarOp::sub); }

/// Nodes whose result is zero where an operand is, but for the other terms of a sum.
bool passes_zero(const Node& node) {
  return is_sum(node) || node.is(Op::broadcast) || node.is(ScalarOp::mul) || node.is(ScalarOp::div) ||
         node.is(ScalarOp::neg);
}

/// Whether the value reaches, through factors, anything but a sum with elements of its row.
bool is_read_alone(const Graph& graph, Value* value, const RowSpace& space) {
  std::vector<Value*> work = {value};
  llvm::SmallPtrSet<const Node*, 16> seen;
  while (!work.empty()) {
    Value* next = work.back();
    work.pop_back();
    if (graph.is_output(next)) return true;
    for (Node* user : next->users()) {
      if (!passes_zero(*user)) return true;
      const bool joins_row = is_sum(*user) && user->result()->shape() == space.shape;
      if (!joins_row && seen.insert(user).second) work.push_back(user->result());
    }
  }
  return false;
}

}  // namespace

Value* ReductionContext::cancelled(const Node& node, Value* summed, const RowSpace& space) {
  if (!in_forward(node) && !is_read_alone(graph, node.result(), space)) return nullptr;
  Value* total = nullptr;
  for (Value* row : rows_below(emit, summed, space)) {
    Value* zero = emit.mul(row, emit.splat(0, row->type));
    total = total ? emit.add(total, zero) : zero;
  }
  return total;
}

ReductionContext::Analyses& ReductionContext::analyses(const RowSpace& space) {
  for (Analyses& known : analyses_)
    if (known.algebra.space() == space) return known;
  return analyses_.emplace_back(Analyses{RowAlgebra(emit, numbers, space), std::nullopt});
}

SweepLevels& ReductionContext::levels(const RowSpace& space) {
  std::optional<SweepLevels>& levels = analyses(space).levels;
  if (!levels) levels.emplace(graph, space);
  return *levels;
}

void ReductionContext::replace(Value* from, Value* to) {
  graph.replace_all_uses(from, to);
  if (splat(to) == 0) spread_zero(to);
}

namespace {

/// What a user of a zero is worth: null when that says nothing. Gradients are finite, so that 0 * x = 0.
Value* value_with_zero(RowEmitter& emit, Node& user) {
  const auto zero = [&](unsigned i) { return splat(user.operand(i)) == 0; };
  const auto all_zero = [&] { return emit.splat(0, user.result()->type); };
  if (user.is(Op::broadcast) || user.is(ScalarOp::neg) || user.is(ReduceOp::add)) return all_zero();
  if (user.is(ScalarOp::mul)) return all_zero();
  if (user.is(ScalarOp::div)) return zero(0) ? all_zero() : nullptr;
  if (user.is(ScalarOp::add)) return user.operand(zero(0) ? 1 : 0);
  if (user.is(ScalarOp::sub))
    return zero(1) ? user.operand(0) : emit.pointwise(ScalarOp::neg, {user.operand(1)});
  if (user.is(ScalarOp::select)) return zero(1) && zero(2) ? all_zero() : nullptr;
  return nullptr;
}

}  // namespace

void ReductionContext::spread_zero(Value* zero) {
  std::vector<Value*> work = {zero};
  while (!work.empty()) {
    Value* value = work.back();
    work.pop_back();
    const llvm::SmallVector<Node*, 8> users(value->users().begin(), value->users().end());
    for (Node* user : users) {
      if (!llvm::is_contained(user->operands(), value)) continue;
      if (is_dead(graph, *user)) continue;
      emit.at(user);
      Value* known = value_with_zero(emit, *user);
      if (!known) continue;
      graph.replace_all_uses(user->result(), known);
      if (splat(known) == 0) work.push_back(known);
    }
  }
}

}  // namespace smelt
