#include "passes/graph/precision/assign_precision.h"

#include "ir/analysis/attention_form.h"
#include "ir/analysis/view.h"
#include "ir/graph/body.h"
#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/precision/storage_classes.h"
#include "runtime/base/error.h"
#include "runtime/plan/retained_ports.h"

namespace smelt {
namespace {

Type typed(const Value& value, DType dtype) { return {dtype, value.shape()}; }

/// Is what the state holds read by any graph?
bool is_read(const Module& module, const std::string& state) {
  return llvm::any_of(module.graphs, [&](const auto& graph) {
    return llvm::any_of(graph->nodes(), [&](const auto& node) {
      return node->is(Op::state) && node->get(attr::name) == state;
    });
  });
}

void narrow_gradients(Graph& graph, DType storage) {
  for (const auto& node : graph.nodes()) {
    if (!node->is(Op::update)) continue;
    State* state = graph.module().find_state(node->get(attr::state));
    if (state && state->role == Role::gradient && !is_read(graph.module(), state->name))
      state->dtype = storage;
  }
}

/// A body: what it reads narrow is widened, what it stores narrow is rounded.
class BodyRewriter {
 public:
  /// `keeps_digits`: the body continues with values that it stores narrow as they are.
  BodyRewriter(Node& node, bool keeps_digits) : node_(node), body_(*node.body), keeps_digits_(keeps_digits) {}

  void run() {
    for (const auto& [operand, input] : body_arguments(node_))
      if (input->dtype() == DType::f32 && operand->dtype() != DType::f32)
        widen_input(*input->node(), operand->dtype());
    drop_exact_roundings();
    if (!returns_its_body(node_.op())) return;
    for (unsigned i = 0; i < node_.result_count(); ++i) {
      Value*& output = body_.outputs[i].value;
      if (output->dtype() == DType::f32 && node_.result(i)->dtype() != DType::f32)
        output = rounded(output, node_.result(i)->dtype());
    }
  }

 private:
  /// Returns the narrow value that `value` is a widened copy of; null if there is none.
  static Value* narrow_source(const Value& value, DType dtype) {
    const Node& node = *value.node();
    const bool widens = node.is(Op::convert) && node.operands().size() == 1 && value.dtype() == DType::f32;
    return widens && node.operand(0)->dtype() == dtype ? node.operand(0) : nullptr;
  }

  /// Removes roundings of values that have just been widened from the same type.
  void drop_exact_roundings() {
    for (Node* narrow : nodes_of(body_, Op::convert))
      if (narrow->operands().size() == 1 && narrow->result()->dtype() != DType::f32)
        if (Value* source = narrow_source(*narrow->operand(0), narrow->result()->dtype())) {
          body_.replace_all_uses(narrow->result(), source);
          body_.erase(narrow);
        }
  }

  Node* convert(Value* value, DType dtype, Node* before) {
    Node* node = body_.create(Op::convert, {value}, {typed(*value, dtype)}, before);
    node->source = value->node()->source;
    return node;
  }

  void widen_input(Node& input, DType dtype) {
    Value* value = input.result();
    value->type.dtype = dtype;
    const llvm::SmallVector<Node*, 4> users(value->users().begin(), value->users().end());
    for (Node* user : users)
      if (user->is(Op::gather) && user->operand(0) == value && user->result()->dtype() == DType::f32)
        widen_gathered(*user, dtype);
    const auto reads_memory = [&](const Node& user) {
      return user.is(Op::gather) && user.operand(0) == value;
    };
    if (llvm::all_of(users, [&](const Node* user) { return reads_memory(*user); })) return;
    Node* wide = convert(value, DType::f32, first_computation(body_));
    body_.replace_uses_if(value, wide->result(),
                          [&](Node& user) { return &user != wide && !reads_memory(user); });
  }

  void widen_gathered(Node& gather, DType dtype) {
    gather.result()->type.dtype = dtype;
    Node* wide = convert(gather.result(), DType::f32, body_.next(&gather));
    body_.replace_uses_if(gather.result(), wide->result(), [&](Node& user) { return &user != wide; });
    for (Graph::Output& output : body_.outputs)
      if (output.value == gather.result()) output.value = wide->result();
  }

  /// The value in memory's type. Who computes with it in this body sees the rounded one too, so that a value
  /// is the same for all its readers.
  Value* rounded(Value* value, DType dtype) {
    if (Value* source = narrow_source(*value, dtype)) return source;
    if (auto it = rounded_.find(value); it != rounded_.end()) return it->second;
    Node* narrow = convert(value, dtype, body_.next(value->node()));
    rounded_[value] = narrow->result();
    if (value->users().size() > 1 && !keeps_digits_) {
      Node* wide = convert(narrow->result(), DType::f32, body_.next(narrow));
      body_.replace_uses_if(value, wide->result(), [&](Node& user) { return &user != narrow; });
    }
    return narrow->result();
  }

  Node& node_;
  Graph& body_;
  const bool keeps_digits_;
  llvm::DenseMap<Value*, Value*> rounded_;
};

class Narrower {
 public:
  Narrower(Graph& graph, const AssignPrecisionOptions& options)
      : graph_(graph), storage_(options.storage), same_bits_(options.same_bits) {
    for (const Graph::Output& output : graph.outputs) declared_.push_back(output.value->dtype());
  }

  bool run() {
    narrow_gradients(graph_, storage_);
    find_kept_inputs();
    const StorageClasses classes(graph_, kept_inputs_, same_bits_);
    std::vector<Value*> narrow;
    for (const auto& node : graph_.nodes())
      for (const auto& result : node->results())
        if (classes.is_narrow(result.get())) narrow.push_back(result.get());
    if (narrow.empty() && !has_matmuls() && !has_retained_ports()) return false;
    for (Value* value : narrow) set_narrow(*value);
    for (const auto& node : graph_.nodes())
      if (node->body) BodyRewriter(*node, same_bits_ && in_forward(*node)).run();
    for (Node* fusion : nodes_of(graph_, Op::fusion)) drop_copies(*fusion);
    show_outputs();
    for (const auto& node : graph_.nodes()) settle(*node);
    return true;
  }

 private:
  bool has_matmuls() const { return !nodes_of(graph_, Op::matmul).empty(); }

  /// The types of inputs and states are given: a narrow class gets a rounded copy of them.
  void set_narrow(Value& value) {
    const Node& node = *value.node();
    if (kept_inputs_.contains(&value)) return void(value.type.dtype = storage_);
    if (!node.is(Op::input) && !node.is(Op::state) && !node.is(Op::constant))
      return void(value.type.dtype = storage_);
    Node* first_user = graph_.next(&node);
    Value* copy = converted(&value, storage_, first_user);
    graph_.replace_uses_if(&value, copy, [&](Node& user) { return &user != copy->node(); });
  }

  /// A fusion that does nothing else: where a type is needed that its maker does not store.
  Value* converted(Value* value, DType dtype, Node* before) {
    Node* fusion = graph_.create(Op::fusion, {value}, {typed(*value, dtype)}, before);
    fusion->source = before ? before->source : value->node()->source;
    if (before) fusion->phase = before->phase;
    fusion->body = std::make_unique<Graph>(graph_.module());
    Node* input = fusion->body->create(Op::input, {}, value->type);
    input->set(attr::name, std::string("a0"));
    Node* convert = fusion->body->create(Op::convert, {input->result()}, {typed(*value, dtype)});
    fusion->body->outputs.push_back({"r0", convert->result()});
    return fusion->result();
  }

  /// Replaces results that are what the fusion reads, or widens and rounds back, and results that it returns
  /// twice.
  void drop_copies(Node& fusion) {
    llvm::SmallVector<unsigned, 4> kept;
    for (unsigned i = 0; i < fusion.result_count(); ++i) {
      Value* output = fusion.body->outputs[i].value;
      const auto same =
          llvm::find_if(kept, [&](unsigned k) { return fusion.body->outputs[k].value == output; });
      Value* copy = same != kept.end() ? fusion.result(*same) : read_back(fusion, *output);
      if (copy)
        graph_.replace_all_uses(fusion.result(i), copy);
      else
        kept.push_back(i);
    }
    if (kept.empty())
      graph_.erase(&fusion);
    else if (kept.size() < fusion.result_count())
      keep_results(fusion, kept);
  }

  /// Returns the operand that the output of a body is a copy of; null if there is none.
  static Value* read_back(const Node& fusion, const Value& output) {
    const Value* read = &output;
    if (const Node& narrow = *output.node(); narrow.is(Op::convert) && output.dtype() != DType::f32)
      if (const Node& wide = *narrow.operand(0)->node();
          wide.is(Op::convert) && wide.result()->dtype() == DType::f32)
        read = wide.operand(0);
    for (const BodyArgument& argument : body_arguments(fusion))
      if (argument.input == read && argument.input->dtype() == output.dtype() &&
          argument.operand->dtype() == output.dtype())
        return argument.operand;
    return nullptr;
  }

  void keep_results(Node& fusion, llvm::ArrayRef<unsigned> kept) {
    llvm::SmallVector<Graph::Output, 4> outputs;
    llvm::SmallVector<Type, 4> types;
    for (const unsigned i : kept) {
      outputs.push_back(fusion.body->outputs[i]);
      types.push_back(fusion.result(i)->type);
    }
    fusion.body->outputs.assign(outputs.begin(), outputs.end());
    Node* fewer = remade(fusion, types);
    for (unsigned i = 0; i < kept.size(); ++i) take_place(*fusion.result(kept[i]), *fewer->result(i));
    graph_.erase(&fusion);
  }

  /// Returns a fusion before this one that has its body and results of other types.
  Node* remade(Node& fusion, llvm::ArrayRef<Type> types) {
    Node* other = graph_.create(Op::fusion, fusion.operands(), types, &fusion);
    other->source = fusion.source;
    other->attributes = fusion.attributes;
    inherit_marks(fusion, *other);
    other->body = std::move(fusion.body);
    return other;
  }

  void take_place(Value& of, Value& result) {
    result.name = of.name;
    graph_.replace_all_uses(&of, &result);
  }

  // ---- what a stage of a pipeline keeps

  bool is_kept(std::string_view port) const { return graph_.module().stage && is_kept_port(port); }

  bool has_retained_ports() const {
    return llvm::any_of(graph_.outputs, [&](const Graph::Output& output) { return is_kept(output.name); }) ||
           llvm::any_of(graph_.inputs(), [&](const Node* input) { return is_kept(input->get(attr::name)); });
  }

  /// Both stages at a boundary know its type without each other.
  static bool crosses_boundary(std::string_view port) { return !port.starts_with("saved."); }

  /// Returns the type that the graph before this one has given to the port.
  DType kept_type(std::string_view port) const {
    if (crosses_boundary(port)) return storage_;
    for (const auto& graph : graph_.module().graphs)
      for (const Graph::Output& output : graph->outputs)
        if (output.name == port) return output.value->dtype();
    return DType::f32;
  }

  void find_kept_inputs() {
    for (const Node* input : graph_.inputs()) {
      const std::string& name = input->get(attr::name);
      if (input->result()->dtype() == DType::f32 && is_kept(name) && kept_type(name) == storage_)
        kept_inputs_.insert(input->result());
    }
  }

  void show_kept(Graph::Output& output) {
    if (output.value->dtype() == DType::f32 && crosses_boundary(output.name))
      output.value = converted(output.value, storage_, graph_.next(output.value->node()));
  }

  // ---- outputs

  void show_outputs() {
    for (const auto& [output, declared] : llvm::zip(graph_.outputs, declared_))
      if (is_kept(output.name))
        show_kept(output);
      else if (output.value->dtype() == storage_ && declared == DType::f32)
        output.value = widened(output.value);
      else if (declared == storage_ && output.value->node()->is(Op::matmul) && has_ragged_rows(*output.value))
        output.value = converted(output.value, storage_, graph_.next(output.value->node()));
  }

  Value* widened(Value* value) {
    Node* node = value->node();
    if (node->is(Op::fusion)) return stored_wide(*node, value->index());
    if (is_view(*node)) {
      Value* operand = widened(node->operand(0));
      Node* view = graph_.clone(*node, {operand}, graph_.next(node));
      view->result()->type.dtype = DType::f32;
      return view->result();
    }
    return converted(value, DType::f32, graph_.next(node));
  }

  /// One result more of the fusion: the rounded value again, as f32.
  Value* stored_wide(Node& fusion, unsigned index) {
    Graph& body = *fusion.body;
    Value* narrow = body.outputs[index].value;
    Value* wide = widening_of(body, narrow);
    body.outputs.push_back({"r" + std::to_string(body.outputs.size()), wide});
    llvm::SmallVector<Type, 4> types;
    for (const auto& result : fusion.results()) types.push_back(result->type);
    types.push_back(wide->type);
    Node* wider = remade(fusion, types);
    for (unsigned i = 0; i < fusion.result_count(); ++i) take_place(*fusion.result(i), *wider->result(i));
    graph_.erase(&fusion);
    return wider->result(wider->result_count() - 1);
  }

  /// The f32 value that the body continues with, if it does.
  static Value* widening_of(Graph& body, Value* narrow) {
    for (Node* user : narrow->users())
      if (user->is(Op::convert) && user->result()->dtype() == DType::f32) return user->result();
    return body.create(Op::convert, {narrow}, {typed(*narrow, DType::f32)}, body.next(narrow->node()))
        ->result();
  }

  // ---- what is left that does not fit

  void settle(Node& node) {
    if (node.is(Op::matmul)) settle_product(node);
    if (node.is(Op::attention) || node.is(Op::attention_grad))
      for (unsigned i = 0; i < (reads_codes(node) ? 1 : own_operands(node).size()); ++i)
        require(node, i, storage_);
    if (node.is(Op::update))
      if (const State* state = graph_.module().find_state(node.get(attr::state)))
        require(node, 0, state->dtype);
  }

  void settle_product(Node& matmul) {
    if (!is_float(matmul.operand(0)->dtype()) && !is_float(matmul.operand(1)->dtype())) return;
    const bool is_f8 = matmul.operand(0)->dtype() == DType::f8e4m3;
    for (unsigned i = 0; i < 2 && !is_f8; ++i) require(matmul, i, storage_);
    if (!matmul.body && (is_f8 || matmul.result()->dtype() != storage_))
      matmul.set(attr::result, std::string(name(matmul.result()->dtype())));
  }

  void require(Node& node, unsigned operand, DType dtype) {
    Value* value = node.operand(operand);
    if (value->dtype() == dtype || !is_float(value->dtype())) return;
    Value*& copy = copies_[{value, dtype}];
    if (!copy) copy = converted_before_copies(value, dtype, &node);
    node.set_operand(operand, copy);
  }

  /// Converts a value before views that no strides express, which are copies: the conversion reads the
  /// elements in their new order itself, so that no copy remains.
  Value* converted_before_copies(Value* value, DType dtype, Node* before) {
    llvm::SmallVector<Node*, 4> views;
    Value* source = value;
    for (; is_rearranged(*source); source = source->node()->operand(0)) views.push_back(source->node());
    std::optional<Layout> layout = Layout{-1, 0, dense_strides(source->shape())};
    while (!views.empty() && (layout = view_layout(*views.back(), *layout)))
      source = views.pop_back_val()->result();
    if (views.empty()) return converted(value, dtype, before);
    Value* result = converted(source, dtype, before);
    for (Node* view : llvm::reverse(views)) {
      result = graph_.clone(*view, {result}, before)->result();
      result->type.dtype = dtype;
    }
    return result;
  }

  static bool is_rearranged(const Value& value) {
    return value.node()->is(Op::reshape) || value.node()->is(Op::transpose);
  }

  Graph& graph_;
  DType storage_;
  bool same_bits_;
  llvm::SmallVector<DType, 4> declared_;                     // types of the outputs
  llvm::DenseSet<const Value*> kept_inputs_;                 // that come narrow
  llvm::DenseMap<std::pair<Value*, DType>, Value*> copies_;  // of operands, by what they are rounded to
};

}  // namespace

bool assign_precision(Graph& graph, const AssignPrecisionOptions& options) {
  if (options.storage == DType::f32) return false;
  return Narrower(graph, options).run();
}

DType parse_precision(std::string_view text) {
  if (text == "fp32") return DType::f32;
  if (text == "bf16") return DType::bf16;
  if (text == "fp16") return DType::f16;
  fail("precision is '{}', expected fp32, bf16 or fp16", text);
}

}  // namespace smelt
