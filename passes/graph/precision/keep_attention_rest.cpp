#include "passes/graph/precision/precision_passes.h"

#include <fmt/format.h>

#include "ir/analysis/attention_form.h"
#include "ir/graph/body.h"
#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "passes/analysis.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

const Value* behind_views(const Value* value) {
  while (is_view(*value->node())) value = value->node()->operand(0);
  return value;
}

/// The fusions that read y and of which delta is made, one number a row from the first to the last.
class MakersOfDelta {
 public:
  MakersOfDelta(const Value& y, const Value& delta) : y_(y), rows_(element_count(delta.shape())) {
    visit(delta);
  }
  llvm::ArrayRef<Node*> list() const { return makers_.getArrayRef(); }

 private:
  void visit(const Value& row) {
    Node* node = behind_views(&row)->node();
    if (!node->is(Op::fusion) || !visited_.insert(node)) return;
    for (const Value* operand : node->operands()) {
      if (behind_views(operand) == &y_) makers_.insert(node);
      if (element_count(operand->shape()) == rows_) visit(*operand);
    }
  }

  const Value& y_;
  const Dim rows_;
  llvm::SmallSetVector<Node*, 4> visited_, makers_;
};

/// The attention again, with its rest.
Node* with_rest(Graph& graph, Node* attention) {
  if (attention->result_count() > 2) return attention;
  llvm::SmallVector<Type, 3> types;
  for (const auto& result : attention->results()) types.push_back(result->type);
  types.push_back(types[0]);
  Node* wider = graph.create(Op::attention, attention->operands(), types, attention);
  wider->source = attention->source;
  wider->attributes = attention->attributes;
  wider->set(attr::rest, true);
  wider->body = std::move(attention->body);
  inherit_marks(*attention, *wider);
  for (const auto& result : attention->results()) {
    wider->result(result->index())->name = result->name;
    graph.replace_all_uses(result.get(), wider->result(result->index()));
  }
  graph.erase(attention);
  return wider;
}

/// Applies the views between y and `value` to the rounding residual.
Value* seen_alike(Graph& graph, const Value* value, Value* rest, Node* before) {
  const Node& view = *value->node();
  if (!is_view(view)) return rest;
  return graph.clone(view, {seen_alike(graph, view.operand(0), rest, before)}, before)->result();
}

/// Adds the rounding residual wherever the body widens `narrow`.
void add_in_body(Graph& body, Value* narrow, Value* rest) {
  const llvm::SmallVector<Node*, 2> users(narrow->users().begin(), narrow->users().end());
  for (Node* user : users) {
    if (!user->is(Op::convert) || user->result()->dtype() != DType::f32) continue;
    GraphBuilder b(body, body.next(user));
    b.set_source(user->source);
    Value* sum = b.add(user->result(), b.convert(rest, DType::f32));
    body.replace_uses_if(user->result(), sum, [&](const Node& reader) { return &reader != sum->node(); });
  }
}

void read_rest(Graph& graph, Node& fusion, const Value* y, Value* rest) {
  if (llvm::any_of(fusion.operands(), [&](const Value* v) { return behind_views(v) == rest; })) return;
  for (const BodyArgument& argument : body_arguments(fusion)) {
    if (behind_views(argument.operand) != y) continue;
    Node* input = fusion.body->create(Op::input, {}, argument.input->type, first_computation(*fusion.body));
    input->set(attr::name, fmt::format("a{}", fusion.operands().size()));
    fusion.add_operand(seen_alike(graph, argument.operand, rest, &fusion));
    add_in_body(*fusion.body, argument.input, input->result());
  }
}

bool keep_for(Graph& graph, const Node& gradient) {
  const auto weight = attention_weight(gradient);
  if (!weight) return false;
  Node* attention = behind_views(weight->lse)->node();
  if (!attention->is(Op::attention) || attention->result()->dtype() == DType::f32) return false;
  const MakersOfDelta makers(*attention->result(), *weight->delta);
  if (makers.list().empty()) return false;
  attention = with_rest(graph, attention);
  for (Node* fusion : makers.list()) read_rest(graph, *fusion, attention->result(), attention->result(2));
  return true;
}

}  // namespace

bool keep_attention_rest(Graph& graph, const KeepAttentionRestOptions&) {
  bool changed = false;
  for (const Node* gradient : nodes_of(graph, Op::attention_grad)) changed |= keep_for(graph, *gradient);
  return changed;
}

}  // namespace smelt
