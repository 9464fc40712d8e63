#include "passes/graph/reductions/rewrite_reductions.h"

#include <memory>

#include "ir/analysis/integer_ranges.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "passes/graph/reductions/reduction_rules.h"

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

bool is_sum(const Node& node) { return node.is(ScalarOp::add) || node.is(ScalarOp::sub); }

bool is_linear(const Node& node) {
  return is_sum(node) || node.is(ScalarOp::neg) || node.is(ScalarOp::mul) || node.is(ScalarOp::div);
}

/// The values that a sum of products is made of within its kernel.
struct Factors {
  std::vector<Value*> rows;    // of the row's shape
  std::vector<Value*> varied;  // along the row
};

Factors factors_below(RowEmitter& emit, Value* value, const RowSpace& space) {
  Factors found;
  std::vector<Value*> work = {value};
  llvm::SmallPtrSet<const Value*, 16> seen;
  while (!work.empty()) {
    Value* next = skip_identity(work.back());
    work.pop_back();
    if (!seen.insert(next).second || splat(next) || next->dtype() != value->dtype()) continue;
    if (Node* row = row_broadcast(next, space))
      found.rows.push_back(emit.row_value(row, space));
    else if (is_linear(*next->node()))
      llvm::append_range(work, next->node()->operands());
    else
      found.varied.push_back(next);
  }
  return found;
}

/// Returns whether the sums of products are made of a common value, by which both are NaN.
bool have_common(ValueNumbers& numbers, const Factors& a, const Factors& b) {
  const auto is_in = [&](const std::vector<Value*>& list) {
    return [&](Value* x) { return llvm::any_of(list, [&](Value* y) { return numbers.same(x, y); }); };
  };
  return llvm::any_of(a.rows, is_in(b.rows)) || llvm::any_of(a.varied, is_in(b.varied));
}

/// Returns whether the row value is not finite where an element of `varied` is not: a sum of such elements
/// and of other terms, times numbers. The sum of exponentials stands for each of them.
bool covers(ValueNumbers& numbers, Value* row, Value* varied, int depth) {
  const Node& node = *row->node();
  if (depth == 0) return false;
  if (node.is(ReduceOp::add)) return numbers.same(node.operand(0), varied);
  if (node.is(ReduceOp::max_sumexp)) return row->index() == 1 && varied->node()->is(ScalarOp::exp);
  if (is_sum(node) || node.is(ScalarOp::neg))
    return llvm::any_of(node.operands(),
                        [&](Value* operand) { return covers(numbers, operand, varied, depth - 1); });
  const bool scales = (node.is(ScalarOp::mul) || node.is(ScalarOp::div)) && splat(node.operand(1));
  return scales && covers(numbers, node.operand(0), varied, depth - 1);
}

/// Nodes whose result is zero where an operand is, but for the other terms of a sum.
bool passes_zero(const Node& node) {
  return is_sum(node) || node.is(Op::broadcast) || node.is(ScalarOp::mul) || node.is(ScalarOp::div) ||
         node.is(ScalarOp::neg);
}

/// Returns whether the value reaches, through factors, anything but sums for which `joins` holds.
bool is_read_alone(const Graph& graph, Value* value, llvm::function_ref<bool(Node&, Value*)> joins) {
  std::vector<Value*> work = {value};
  llvm::SmallPtrSet<const Node*, 16> seen;
  while (!work.empty()) {
    Value* next = work.back();
    work.pop_back();
    if (graph.is_output(next)) return true;
    for (Node* user : next->users()) {
      if (!passes_zero(*user)) return true;
      if (!(is_sum(*user) && joins(*user, next)) && seen.insert(user).second) work.push_back(user->result());
    }
  }
  return false;
}

}  // namespace

Value* ReductionContext::cancelled(const Node& node, Value* summed, const RowSpace& space) {
  const Factors factors = factors_below(emit, summed, space);
  const auto joins = [&](Node& sum, Value* zero) {
    if (sum.result()->shape() != space.shape) return false;
    return have_common(numbers, factors,
                       factors_below(emit, sum.operand(sum.operand(0) == zero ? 1 : 0), space));
  };
  if (!in_forward(node) && !is_read_alone(graph, node.result(), joins)) return nullptr;
  Value *total = nullptr, *elements = nullptr;
  const auto add_zero_of = [&](Value* value, Value*& to) {
    Value* zero = emit.mul(value, emit.splat(0, value->type));
    to = to ? emit.add(to, zero) : zero;
  };
  for (Value* row : factors.rows) add_zero_of(row, total);
  for (Value* varied : factors.varied)
    if (llvm::none_of(factors.rows, [&](Value* row) { return covers(numbers, row, varied, 8); }))
      add_zero_of(varied, elements);
  if (!elements) return total;
  Value* sum = emit.sum(elements, space);
  return total ? emit.add(total, sum) : sum;
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

/// Returns the value of a user of a zero; null if it is unknown. Gradients are finite, so 0 * x = 0.
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
