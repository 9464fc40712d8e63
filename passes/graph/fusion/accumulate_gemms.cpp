#include "passes/graph/fusion/merge_gemms.h"

#include "ir/analysis/epilogue.h"
#include "ir/analysis/uses.h"
#include "ir/graph/body.h"
#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/graph/fusion/bodies.h"

namespace smelt {
namespace {

struct Accumulation {
  Node* matmul;    // the first of those that add up the product
  Value* held;     // the state's part, in the shape of the sum
  Value* product;  // what the last of them makes, in that shape
};

/// The state that `value` shows a part of; null for anything else.
Node* state_behind(const Value* value) {
  Node* node = value->node();
  while (node->is(Op::reshape) || node->is(Op::slice)) node = node->operand(0)->node();
  return node->is(Op::state) ? node : nullptr;
}

/// Returns whether only updates of the state read the value, part by part.
bool goes_to(const Value& value, std::string_view state) {
  return llvm::all_of(value.users(), [&](const Node* user) {
    if (user->is(Op::update)) return user->get(attr::state) == state;
    const bool passes_on = user->is(Op::reshape) || user->is(Op::slice) || user->is(Op::pack);
    return passes_on && goes_to(*user->result(), state);
  });
}

class Accumulator {
 public:
  explicit Accumulator(Graph& graph) : graph_(graph) {}

  bool run() {
    bool changed = false;
    for (Node* fusion : nodes_of(graph_, Op::fusion)) {
      const auto found = accumulation(*fusion);
      if (!found) continue;
      join(*fusion, *found);
      changed = true;
    }
    return changed;
  }

 private:
  static bool is_sum(const Node& fusion) {
    if (fusion.result_count() != 1 || fusion.operands().size() != 2) return false;
    const Node& sum = *fusion.body->outputs[0].value->node();
    return sum.is(ScalarOp::add) && sum.operand(0) != sum.operand(1) &&
           llvm::all_of(sum.operands(), [](const Value* value) { return value->node()->is(Op::input); });
  }

  std::optional<Accumulation> accumulation(const Node& fusion) const {
    if (!is_sum(fusion)) return {};
    for (unsigned side : {0u, 1u}) {
      Value* held = fusion.operand(side);
      const Node* state = state_behind(held);
      Node* matmul = matmul_behind(fusion.operand(1 - side));
      if (state && matmul && goes_to(*fusion.result(), state->get(attr::name)) &&
          !graph_.is_output(fusion.result()))
        return Accumulation{matmul, held, fusion.operand(1 - side)};
    }
    return {};
  }

  /// Returns the matmul whose result `value` shows through reshapes and later accumulating matmuls, if it has
  /// no other reader.
  Node* matmul_behind(const Value* value) const {
    while (has_one_use(*value) && value->node()->is(Op::reshape)) value = value->node()->operand(0);
    for (auto sum = epilogue(*value->node());
         sum && sum->kind == Epilogue::Kind::matrix && has_one_use(*value); sum = epilogue(*value->node()))
      value = sum->operand;
    Node* node = value->node();
    const bool fits = node->is(Op::matmul) && !node->body && is_float(value->dtype());
    return fits && has_one_use(*value) ? node : nullptr;
  }

  void join(Node& fusion, const Accumulation& found) {
    Node& matmul = *found.matmul;
    GraphBuilder b(graph_, &matmul);
    b.set_source(matmul.source);
    Value* held = b.reshape(copied(*found.held, matmul), matmul.result()->shape());
    Node* joined = matmul_with_body(b, matmul, {held}, [&](llvm::ArrayRef<Type> inputs) {
      auto body = empty_body(graph_.module(), Op::matmul, inputs);
      GraphBuilder inside(*body);
      Value* added = inside.convert(body->inputs()[1]->result(), DType::f32);
      Value* sum = inside.add(body->inputs()[0]->result(), added);
      inside.output("r0", inside.convert(sum, matmul.result()->dtype()));
      return body;
    });
    graph_.replace_all_uses(fusion.result(), found.product);
    erase_with_operands(fusion);
    graph_.replace_all_uses(matmul.result(), joined->result());
    graph_.erase(&matmul);
  }

  /// Copies the view of the state to before the matmul, because the view may come after it.
  Value* copied(const Value& held, Node& before) {
    const Node& node = *held.node();
    if (node.is(Op::state)) return graph_.clone(node, {}, &before)->result();
    return graph_.clone(node, {copied(*node.operand(0), before)}, &before)->result();
  }

  /// Also erases the views, matmuls and states without other readers.
  void erase_with_operands(Node& node) {
    const llvm::SmallVector<Value*, 3> operands(node.operands().begin(), node.operands().end());
    graph_.erase(&node);
    for (Value* operand : operands) {
      const bool one_of_ours =
          is_view(*operand->node()) || operand->node()->is(Op::matmul) || operand->node()->is(Op::state);
      if (operand->users().empty() && one_of_ours && !graph_.is_output(operand))
        erase_with_operands(*operand->node());
    }
  }

  Graph& graph_;
};

}  // namespace

bool accumulate_gemms(Graph& graph, const AccumulateGemmsOptions&) { return Accumulator(graph).run(); }

}  // namespace smelt
