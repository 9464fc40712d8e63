#include "passes/graph/precision/round_results.h"

#include "ir/graph/body.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

bool is_product(const Node& node) {
  return node.is(Op::matmul) || node.is(Op::linear) || node.is(Op::einsum) || node.is(Op::conv) ||
         node.is(Op::attention);
}

/// Returns whether the results of the op are elements of its operands.
bool moves_elements(const Node& node) {
  return is_view(node) || node.is(Op::concat) || node.is(Op::pad) || node.is(Op::strided_slice) ||
         node.is(Op::gather) || node.is(Op::embedding) || node.is(Op::insert);
}

/// Returns whether the op computes, in one piece, what a description calls an operation. Dropouts are
/// pointwise, and training alone has them.
bool is_whole_operation(const Node& node) {
  return info(node.op()).has(Trait::composite) && !node.is(Op::dropout) && !node.is(Op::custom_vjp) &&
         !node.is(Op::with_slopes) && !node.is(Op::sort) && !moves_elements(node);
}

/// Returns the operands of a product that it multiplies; the others are biases, or arguments of a score_mod.
llvm::ArrayRef<Value*> multiplied(const Node& product) {
  return product.operands().take_front(product.is(Op::attention) ? 3 : 2);
}

bool adds_up(const Node& node) {
  return node.is(ReduceOp::add) || node.is(ReduceOp::max_sumexp) || node.is(ReduceOp::mean_variance);
}

/// Returns whether the node reduces the last dim alone.
bool is_over_row(const Node& reduce) {
  const std::vector<int64_t>& axes = reduce.get(attr::axes);
  return axes.size() == 1 && axes[0] == static_cast<int64_t>(reduce.operand(0)->rank()) - 1;
}

class Rounder {
 public:
  Rounder(Graph& graph, DType storage) : graph_(graph), storage_(storage) {}

  bool run() {
    find_activations();
    find_read();
    for (const auto& node : graph_.nodes()) require_own_order(*node);
    std::vector<Value*> rounded;
    for (const auto& node : graph_.nodes())
      if (Value* result = node->result_count() > 0 ? node->result(0) : nullptr)
        if (result->dtype() == DType::f32 && rounds(*node)) rounded.push_back(result);
    const auto parameters = nodes_of(graph_, Op::parameter);
    for (Value* value : rounded) round(value, [](Node&) { return true; });
    for (Node* parameter : parameters) round_parameter(*parameter);
    return !rounded.empty() || !parameters.empty();
  }

 private:
  /// Values that depend on parameters or on inputs of floats, other than by reductions.
  void find_activations() {
    for (const auto& node : graph_.nodes()) {
      const bool begins = node->is(Op::parameter) || is_product(*node) ||
                          (node->is(Op::input) && is_float(node->result()->dtype()));
      const bool passes = !node->is(Op::reduce) && llvm::any_of(node->operands(), [&](const Value* operand) {
        return activations_.contains(operand);
      });
      if (begins || passes)
        for (const auto& result : node->results()) activations_.insert(result.get());
    }
  }

  /// Values from which products are computed.
  void find_read() {
    llvm::SmallVector<const Value*, 32> open;
    for (const auto& node : graph_.nodes())
      if (is_product(*node)) open.append(node->operands().begin(), node->operands().end());
    while (!open.empty()) {
      const Value* value = open.pop_back_val();
      if (!read_.insert(value).second) continue;
      const auto operands = value->node()->operands();
      open.append(operands.begin(), operands.end());
    }
  }

  /// Throws Error if a value from which a product is computed is a sum in an order that depends on sizes.
  void require_own_order(const Node& node) const {
    const Value* result = node.result_count() > 0 ? node.result(0) : nullptr;
    if (!result || !is_float(result->dtype()) || !read_.contains(result)) return;
    const bool across_rows = adds_up(node) && !is_over_row(node);
    if (across_rows || node.is(Op::scatter_add) || node.is(Op::scan))
      fail(
          "--same-bits: \"{}\" ({}) adds up several rows, in an order that depends on the number of rows; "
          "expected "
          "sums over the last dim alone; leave --same-bits out for this model",
          node.source, info(node.op()).name);
  }

  bool rounds(const Node& node) const {
    if (node.is(Op::attention)) return false;  // its kernels round
    if (is_product(node)) return true;
    const Value* result = node.result(0);
    if (!read_.contains(result) || !activations_.contains(result)) return false;
    if (is_whole_operation(node)) return true;
    return (node.is(Op::pointwise) || node.is(Op::dropout)) && is_operand(*result);
  }

  /// Returns whether a product or a composite reads the value, maybe from a view or a concat.
  static bool is_operand(const Value& value) {
    return llvm::any_of(value.users(), [](const Node* user) {
      if (moves_elements(*user)) return is_operand(*user->result());
      return is_product(*user) || is_whole_operation(*user);
    });
  }

  /// Returns whether a product multiplies the parameter, or a gather reads its rows: these read its rounded
  /// copy.
  static bool is_matrix(const Value& value) {
    return llvm::any_of(value.users(), [&](const Node* user) {
      if (is_view(*user) || user->is(Op::concat)) return is_matrix(*user->result());
      if (user->is(Op::gather) || user->is(Op::embedding)) return user->operand(0) == &value;
      return is_product(*user) && llvm::is_contained(multiplied(*user), &value);
    });
  }

  void round_parameter(Node& parameter) {
    Value* value = parameter.result();
    if (value->dtype() != DType::f32 || !read_.contains(value)) return;
    round(value, [&](Node& user) {
      if (is_view(user) || user.is(Op::concat)) return !is_matrix(*user.result());
      if (user.is(Op::gather) || user.is(Op::embedding)) return user.operand(0) != value;
      return !is_product(user) || !llvm::is_contained(multiplied(user), value);
    });
  }

  /// Rounds the value for those of its users that `accepts` names.
  void round(Value* value, llvm::function_ref<bool(Node&)> accepts) {
    if (llvm::none_of(value->users(), [&](Node* user) { return accepts(*user); }) && !is_output(value))
      return;
    Node* narrow = convert(value, storage_, graph_.next(value->node()));
    Node* wide = convert(narrow->result(), DType::f32, graph_.next(narrow));
    graph_.replace_uses_if(value, wide->result(),
                           [&](Node& user) { return &user != narrow && accepts(user); });
    if (!value->node()->is(Op::parameter))
      for (Graph::Output& output : graph_.outputs)
        if (output.value == value) output.value = wide->result();
  }

  bool is_output(const Value* value) const {
    return llvm::any_of(graph_.outputs, [&](const Graph::Output& output) { return output.value == value; });
  }

  Node* convert(Value* value, DType dtype, Node* before) {
    Node* node = graph_.create(Op::convert, {value}, {Type{dtype, value->shape()}}, before);
    node->source = value->node()->source;
    return node;
  }

  Graph& graph_;
  DType storage_;
  llvm::DenseSet<const Value*> activations_, read_;
};

}  // namespace

bool round_results(Graph& graph, const RoundResultsOptions& options) {
  if (options.storage == DType::f32) return false;
  return Rounder(graph, options.storage).run();
}

}  // namespace smelt
