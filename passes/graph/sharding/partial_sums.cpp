#include "passes/graph/sharding/sums.h"

#include <algorithm>

#include "ir/analysis/uses.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/written_shardings.h"

namespace smelt {
namespace {

using IsPartial = llvm::function_ref<bool(unsigned)>;

bool is_zero(const Value* value) { return splat(value) == 0.0; }

unsigned count_partial(const Node& node, IsPartial is_partial) {
  unsigned count = 0;
  for (unsigned i = 0; i < node.operands().size(); ++i) count += is_partial(i);
  return count;
}

/// In operand 0 alone.
bool in_first(const Node& node, IsPartial is_partial) {
  return is_partial(0) && count_partial(node, is_partial) == 1;
}

/// In all operands together: zeros are addends of zero.
bool in_all(const Node& node, IsPartial is_partial) {
  for (unsigned i = 0; i < node.operands().size(); ++i)
    if (!is_partial(i) && !is_zero(node.operand(i))) return false;
  return count_partial(node, is_partial) > 0;
}

/// In each operand while the others are what they are.
bool in_one(const Node& node, IsPartial is_partial) { return count_partial(node, is_partial) == 1; }

/// In all operands but number `fixed`.
bool in_others(const Node& node, unsigned fixed, IsPartial is_partial) {
  if (is_partial(fixed)) return false;
  for (unsigned i = 0; i < node.operands().size(); ++i)
    if (i != fixed && !is_partial(i) && !is_zero(node.operand(i))) return false;
  return count_partial(node, is_partial) > 0;
}

bool through_pointwise(const Node& node, IsPartial is_partial) {
  if (!is_float(node.result()->dtype())) return false;
  if (node.is(ScalarOp::neg) || node.is(ScalarOp::div)) return in_first(node, is_partial);
  if (node.is(ScalarOp::add) || node.is(ScalarOp::sub)) return in_all(node, is_partial);
  if (node.is(ScalarOp::mul)) return in_one(node, is_partial);
  return node.is(ScalarOp::select) && in_others(node, 0, is_partial);
}

/// Bits of a float type.
struct FloatBits {
  DType type;
  int mantissa, exponent;
};
constexpr FloatBits kFloatBits[] = {
    {DType::bf16, 7, 8}, {DType::f16, 10, 5}, {DType::f32, 23, 8}, {DType::f64, 52, 11}};

/// Returns whether the type holds every number of the other.
bool can_hold(DType type, DType other) {
  const auto *bits = llvm::find_if(kFloatBits, [&](const FloatBits& row) { return row.type == type; }),
             *of = llvm::find_if(kFloatBits, [&](const FloatBits& row) { return row.type == other; });
  if (bits == std::end(kFloatBits) || of == std::end(kFloatBits)) return false;
  return bits->mantissa >= of->mantissa && bits->exponent >= of->exponent;
}

/// Addends that are rounded are not those of the rounded sum.
bool through_convert(const Node& node, IsPartial is_partial) {
  return can_hold(node.result()->dtype(), node.operand(0)->dtype()) && in_first(node, is_partial);
}

}  // namespace

bool passes_partial(const Node& node, IsPartial is_partial) {
  switch (node.op()) {
    case Op::pointwise:
      return through_pointwise(node, is_partial);
    case Op::convert:
      return through_convert(node, is_partial);
    case Op::reduce:
      return node.is(ReduceOp::add) && in_first(node, is_partial);
    case Op::scan:
      return node.get(attr::kind) == "add" && in_first(node, is_partial);
    case Op::broadcast:
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::windows:
    case Op::stop_gradient:
    case Op::gather:
    case Op::embedding:
      return in_first(node, is_partial);
    case Op::concat:
    case Op::pack:
      return in_all(node, is_partial);
    case Op::scatter_add:
    case Op::scatter:
      return in_others(node, 1, is_partial);
    case Op::matmul:
      return !node.body && in_one(node, is_partial);
    case Op::linear:
      return node.operands().size() == 2 && in_one(node, is_partial);
    default:
      return false;
  }
}

namespace {

/// One axis of the mesh at a time.
class AxisSums {
 public:
  AxisSums(const Graph& graph, const Assignments& assignments, size_t axis,
           llvm::DenseMap<const Value*, Sharding>& shardings, llvm::function_ref<bool(const Value*)> fixed)
      : graph_(graph), assignments_(assignments), axis_(axis), shardings_(shardings), fixed_(fixed) {}

  void run() {
    cuts_inputs_ = cuts_inputs();
    for (const auto& node : graph_.nodes()) spread(*node, [&](const Value* v) { return may_.insert(v); });
    for (const Graph::Output& output : graph_.outputs) outputs_.insert(output.value);
    for (const auto& node : llvm::reverse(graph_.nodes()))
      for (const auto& result : node->results()) decide(*result);
    for (const auto& node : graph_.nodes()) spread_kept(*node);
  }

 private:
  bool is_cut(const Value* value) const {
    return llvm::any_of(shardings_.find(value)->second.dims,
                        [&](const auto& axes) { return llvm::is_contained(axes, axis_); });
  }
  bool was_written_partial(const Value* value) const {
    return fixed_(value) && llvm::is_contained(shardings_.find(value)->second.partial, axis_);
  }

  bool makes_partial(const Node& node, const llvm::DenseSet<const Value*>& partial) const {
    if (node.is(Op::state)) return llvm::is_contained(sharding_of_state(node).partial, axis_);
    const Assignment& made = assignments_.find(&node)->second;
    for (unsigned i = 0; i < node.result_count(); ++i)
      if (llvm::is_contained(made.result(i).partial, axis_)) return true;
    return !made.uses(axis_) &&
           passes_partial(node, [&](unsigned i) { return partial.contains(node.operand(i)); });
  }

  template <typename F>
  void spread(const Node& node, F add) {
    const bool made = makes_partial(node, may_);
    for (const auto& result : node.results())
      if (was_written_partial(result.get()) || made) add(result.get());
  }

  void spread_kept(const Node& node) {
    const bool made = makes_partial(node, kept_);
    for (const auto& result : node.results()) {
      if (was_written_partial(result.get())) {
        kept_.insert(result.get());
        continue;
      }
      if (!made || !late_.contains(result.get())) continue;
      kept_.insert(result.get());
      auto& partial = shardings_.find(result.get())->second.partial;
      partial.push_back(axis_);
      llvm::sort(partial);
    }
  }

  // ---- now or later

  /// Ranks that have batches of their own can add up nothing but what is of the same size at all of them: a
  /// sum of symbolic size is dearer there than any of a constant one.
  static constexpr double kSymbolic = 1ULL << 40;

  bool cuts_inputs() const {
    return llvm::any_of(graph_.inputs(), [&](const Node* input) { return is_cut(input->result()); });
  }

  double cost_of_sum(const Value& value) const {
    // A value that is cut afterwards is reduce-scattered, which moves half as many bytes.
    const double cost = whole_bytes(value) / (is_cut(&value) ? 2 : 1) + kLatencyBytes;
    const auto is_constant = [](const Dim& dim) { return dim.is_constant(); };
    return !cuts_inputs_ || llvm::all_of(value.shape(), is_constant) ? cost : cost * kSymbolic;
  }

  /// A value stays partial where that moves no more bytes than its own sum: who needs the sum has it made
  /// from the addends, once.
  void decide(const Value& value) {
    if (!may_.contains(&value)) return;
    double& cost = cost_[&value] = cost_of_sum(value);
    if (was_written_partial(&value)) return void(late_.insert(&value));
    if (fixed_(&value) || is_cut(&value)) return;
    bool needs_sum = outputs_.contains(&value);
    double later = 0;
    llvm::DenseSet<const Node*> seen;
    for (const Node* user : value.users()) {
      if (!seen.insert(user).second) continue;
      const auto share = share_of(value, *user);
      needs_sum |= !share;
      later += share.value_or(0);
    }
    if (needs_sum) later += cost;
    const double slack = needs_sum ? 1 : 1.001;  // shares are sums of rounded numbers
    if (later > cost * slack || (needs_sum && !has_free_user(value))) return;
    cost = later;
    late_.insert(&value);
  }

  bool has_free_user(const Value& value) const {
    return llvm::any_of(value.users(), [&](const Node* user) { return share_of(value, *user).has_value(); });
  }

  /// This value's part of what it costs to sum the user's result; nothing where the user needs the sum.
  std::optional<double> share_of(const Value& value, const Node& user) const {
    if (user.is(Op::update)) return takes_partial(user) ? std::optional(0.0) : std::nullopt;
    if (user.result_count() != 1 || !may_.contains(user.result())) return std::nullopt;
    if (assignments_.find(&user)->second.uses(axis_) && !is_added_to(value, user)) return std::nullopt;
    double all = 0;
    for (const Value* operand : user.operands())
      if (may_.contains(operand)) all += whole_bytes(*operand);
    return cost_.find(user.result())->second * whole_bytes(value) / std::max(all, 1.0);
  }

  /// Returns whether the user scatters into the value, which may itself be addends.
  bool is_added_to(const Value& value, const Node& user) const {
    return user.is(Op::scatter_add) && user.operand(0) == &value && user.operand(2) != &value &&
           llvm::is_contained(assignments_.find(&user)->second.result(0).partial, axis_);
  }

  bool takes_partial(const Node& update) const {
    return llvm::is_contained(sharding_of_state(update).partial, axis_);
  }

  const Graph& graph_;
  const Assignments& assignments_;
  const size_t axis_;
  bool cuts_inputs_ = false;
  llvm::DenseMap<const Value*, Sharding>& shardings_;
  llvm::function_ref<bool(const Value*)> fixed_;
  llvm::DenseSet<const Value*> may_, late_, kept_, outputs_;
  llvm::DenseMap<const Value*, double> cost_;
};

}  // namespace

void keep_partial_sums(const Graph& graph, const Assignments& assignments,
                       llvm::DenseMap<const Value*, Sharding>& shardings,
                       llvm::function_ref<bool(const Value*)> fixed) {
  for (size_t axis = 0; axis < graph.module().mesh().axes.size(); ++axis)
    if (graph.module().mesh().axes[axis].size > 1) AxisSums(graph, assignments, axis, shardings, fixed).run();
}

}  // namespace smelt
