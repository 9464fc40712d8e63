// Attention and its gradient as kernels whose templates are around the body. The body is lowered as a fusion
// over [b,h,t,s] of which the handed values are inputs and the returned ones outputs; these then are the
// template's.
#include <functional>

#include "codegen/lowering/attention_lowering.h"
#include "codegen/lowering/fusion_blocks.h"
#include "codegen/lowering/program_builder.h"
#include "ir/analysis/attention_form.h"
#include "ir/analysis/view.h"
#include "ir/body.h"
#include "ir/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Buffers that no memory stands behind: of what the template hands to the body and gets from it.
constexpr int kFirstHanded = -2;

/// A fusion with a copy of the node's body, erased at the end.
class BodyAsFusion {
 public:
  BodyAsFusion(const Node& node, llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed)
      : scratch_(node.graph().module()) {
    llvm::DenseMap<const Value*, Value*> twins;
    auto body = std::make_unique<Graph>(node.graph().module());
    llvm::SmallVector<Value*, 8> operands;
    for (auto [slot, value] : llvm::enumerate(handed)) {
      twins[value] = body->create(Op::input, {}, value->type)->result();
      operands.push_back(handed_input(*value, static_cast<int>(slot)));
    }
    for (const auto& [operand, input] : body_arguments(node)) {
      if (twins.count(input)) continue;
      twins[input] = body->create(Op::input, {}, input->type)->result();
      operands.push_back(operand);
    }
    copy_nodes(*node.body, *body, twins, operands);
    llvm::SmallVector<Type, 4> types;
    for (const Value* output : outputs) {
      // An input that is returned as it is needs a node that has axes.
      Value* twin = twins.at(output);
      if (twin->node()->is(Op::input)) twin = body->create(Op::convert, {twin}, {twin->type})->result();
      body->outputs.push_back({fmt::format("r{}", types.size()), twin});
      types.push_back(output->type);
    }
    tie(*body);
    types.push_back(outputs[0]->type);
    body->prune();
    drop_unused(*body, operands);
    fusion_ = scratch_.create(Op::fusion, operands, types);
    fusion_->body = std::move(body);
    for (const auto& result : fusion_->results())
      result->layout =
          Layout{kFirstHanded - 100 - static_cast<int>(result->index()), 0, dense_strides(result->shape())};
  }
  ~BodyAsFusion() { scratch_.erase(fusion_); }
  BodyAsFusion(const BodyAsFusion&) = delete;

  const Node& fusion() const { return *fusion_; }

 private:
  /// One more output reads all others: what is computed apart from each other follows the same axes.
  static void tie(Graph& body) {
    GraphBuilder b(body);
    Value* sum = body.outputs[0].value;
    for (const Graph::Output& output : body.outputs) sum = b.add(sum, output.value);
    b.output("tie", sum);
  }

  static void drop_unused(Graph& body, llvm::SmallVectorImpl<Value*>& operands) {
    const std::vector<Node*> inputs = body.inputs();
    for (size_t i = inputs.size(); i-- > 0;) {
      if (!inputs[i]->result()->users().empty()) continue;
      body.erase(inputs[i]);
      operands.erase(operands.begin() + static_cast<int64_t>(i));
    }
  }

  Value* handed_input(const Value& value, int slot) {
    Value* input = scratch_.create(Op::input, {}, value.type)->result();
    input->layout = Layout{kFirstHanded - slot, 0, dense_strides(value.shape())};
    return input;
  }

  /// An argument is an input for each node that spreads it: one is read along queries, another along keys.
  static void copy_nodes(const Graph& from, Graph& to, llvm::DenseMap<const Value*, Value*>& twins,
                         llvm::SmallVectorImpl<Value*>& arguments) {
    for (const auto& node : from.nodes()) {
      if (node->is(Op::input) || node->is(Op::reduce) || twins.count(node->result())) continue;
      llvm::SmallVector<Value*, 3> operands;
      for (const Value* operand : node->operands()) operands.push_back(twins.at(operand));
      if (node->is(Op::broadcast) && operands[0]->node()->is(Op::input)) {
        const std::vector<Node*> inputs = to.inputs();
        const auto at = llvm::find(inputs, operands[0]->node()) - inputs.begin();
        arguments.push_back(arguments[static_cast<size_t>(at)]);
        operands[0] = to.create(Op::input, {}, operands[0]->type)->result();
      }
      Node* twin = to.clone(*node, operands);
      for (unsigned i = 0; i < node->result_count(); ++i) twins[node->result(i)] = twin->result(i);
    }
  }

  Graph scratch_;
  Node* fusion_ = nullptr;
};

}  // namespace

void AttentionLowering::add_body(llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed) {
  if (!node_.body) return leave_scores();
  const BodyAsFusion body(node_, outputs, handed);
  FusionKernel fusion(builder_, body.fusion());
  FusionBlocks blocks(fusion);
  blocks.emit();
  take_body(fusion, blocks.random_ids());
}

/// The body of a node without one: the score is what it is.
void AttentionLowering::leave_scores() {
  const char* const names[] = {"b", "h", "t", "s"};
  const Dim extents[] = {form_.batch, form_.heads, form_.queries, form_.keys};
  for (int axis = 0; axis < 4; ++axis) {
    kernel_.axes.push_back({AxisKind::column, names[axis], extents[axis]});
    form_.axes.push_back(axis);
  }
  kernel_.instructions.push_back({.kind = Kind::handed});
  kernel_.blocks = {{KernelBlock::Scope::column, {0}}};
  form_.returned = {0};
}

/// Parameters of the fusion that are the body's arguments become the kernel's.
void AttentionLowering::take_params(const FusionKernel& fusion, std::vector<int>& numbers) {
  numbers.assign(fusion.kernel.params.size(), -1);
  for (size_t i = 0; i < fusion.kernel.params.size(); ++i) {
    const BufferRef& argument = fusion.arguments[i];
    if (argument.buffer <= kFirstHanded) continue;
    KernelParam param = fusion.kernel.params[i];
    numbers[i] = static_cast<int>(arguments_.size());
    param.name = fmt::format("x{}", numbers[i]);
    kernel_.params.push_back(std::move(param));
    arguments_.push_back(argument);
  }
}

void AttentionLowering::take_body(const FusionKernel& fusion, std::vector<uint32_t> ids) {
  std::vector<int> numbers;
  take_params(fusion, numbers);
  kernel_.axes = fusion.kernel.axes;
  kernel_.blocks = {{KernelBlock::Scope::column, {}}};
  kernel_.random_slots = fusion.kernel.random_slots;
  random_ids_ = std::move(ids);
  form_.returned.assign(fusion.stores.size(), -1);  // the last one ties the others together
  for (size_t dim = 0; dim < 4; ++dim) form_.axes.push_back(fusion.axis_of(*fusion.stores[0].value, dim));
  kernel_.instructions = fusion.kernel.instructions;
  std::vector<int> order;
  for (const KernelBlock& block : fusion.kernel.blocks)
    for (const int id : block.instructions) {
      Instruction& x = kernel_.instructions[static_cast<size_t>(id)];
      const int param = x.access.param;
      if (x.kind == Kind::store) {
        const auto which =
            llvm::find_if(fusion.stores, [&](const FusionStore& s) { return s.param == param; });
        form_.returned[static_cast<size_t>(which - fusion.stores.begin())] = x.operands[0];
        x = {.kind = Kind::constant, .dtype = DType::f32};  // that nothing reads
        continue;
      }
      if (param >= 0 && numbers[static_cast<size_t>(param)] < 0)
        x = {.kind = Kind::handed,
             .dtype = x.dtype,
             .slot = kFirstHanded - fusion.arguments[static_cast<size_t>(param)].buffer};
      else if (param >= 0)
        x.access.param = numbers[static_cast<size_t>(param)];
      order.push_back(id);
    }
  form_.returned.pop_back();
  place(order);
}

/// Of the instructions in order those that the returned ones need.
void AttentionLowering::place(llvm::ArrayRef<int> order) {
  std::vector<bool> needed(kernel_.instructions.size());
  for (const int id : form_.returned) needed[static_cast<size_t>(id)] = true;
  for (const int id : llvm::reverse(order)) {
    const Instruction& x = kernel_.instructions[static_cast<size_t>(id)];
    if (needed[static_cast<size_t>(id)])
      for (const int operand : x.operands) needed[static_cast<size_t>(operand)] = true;
  }
  for (const int id : order)
    if (needed[static_cast<size_t>(id)]) kernel_.blocks[0].instructions.push_back(id);
}

namespace {

/// What a gradient's body returns behind the first two, in the order of the template.
struct BodyGradients {
  struct One {
    const Value* per_score;
    const Value* result;               // of the node
    const std::vector<int64_t>* axes;  // that are summed; null: none
    bool sums(int64_t axis) const { return axes && llvm::is_contained(*axes, axis); }
  };
  std::vector<One> rows, columns, elements;

  explicit BodyGradients(const Node& node) {
    for (size_t i = 2; i < node.body->outputs.size(); ++i) {
      const Value* value = node.body->outputs[i].value;
      const bool is_sum = value->node()->is(Op::reduce);
      const One one{is_sum ? value->node()->operand(0) : value, node.result(static_cast<unsigned>(i) + 1),
                    is_sum ? &value->node()->ints_attr("axes") : nullptr};
      (one.sums(3) ? rows : one.sums(2) ? columns : elements).push_back(one);
    }
  }
};

/// A part of the gradient: what it reads is the same for all.
AttentionLowering gradient_part(ProgramBuilder& builder, const Node& node, const AttentionWeight& weight,
                                AttentionPart part) {
  AttentionLowering lowering(builder, node);
  lowering.form().part = part;
  for (unsigned i = 0; i < 4; ++i) lowering.add_heads(*node.operand(i), i == 1 || i == 2, false);
  lowering.add_rows(*weight.lse, false);
  lowering.add_rows(*weight.delta, false);
  return lowering;
}

void add_part(AttentionLowering& lowering, const Node& node, const AttentionWeight& weight,
              const BodyGradients& gradients) {
  AttentionKernel& form = lowering.form();
  form.row_gradients = static_cast<int>(gradients.rows.size());
  form.column_gradients = static_cast<int>(gradients.columns.size());
  form.element_gradients = static_cast<int>(gradients.elements.size());
  llvm::SmallVector<const Value*, 6> outputs = {weight.modified, node.body->outputs[0].value,
                                                node.body->outputs[1].value};
  for (const auto* list : {&gradients.rows, &gradients.columns, &gradients.elements})
    for (const BodyGradients::One& one : *list) outputs.push_back(one.per_score);
  const auto own = handed_values(node);
  lowering.add_body(outputs, {own[0], own[1], weight.weight, weight.delta_in_body});
}

}  // namespace

void lower_attention(ProgramBuilder& builder, const Node& node) {
  AttentionLowering lowering(builder, node);
  lowering.add_heads(*node.operand(0), false, false);
  lowering.add_heads(*node.operand(1), true, false);
  lowering.add_heads(*node.operand(2), true, false);
  lowering.add_heads(*node.result(0), false, true);
  if (node.result_count() > 2) lowering.add_heads(*node.result(2), false, true);
  lowering.add_rows(*node.result(1), true);
  llvm::SmallVector<const Value*, 2> outputs, handed;
  if (node.body) {
    for (const Graph::Output& output : node.body->outputs) outputs.push_back(output.value);
    handed.push_back(handed_values(node).front());
  }
  lowering.add_body(outputs, handed);
  finish_attention(builder, node, lowering);
}

void lower_attention_grad(ProgramBuilder& builder, const Node& node) {
  const BodyGradients gradients(node);
  const AttentionWeight weight = *attention_weight(node);
  llvm::SmallVector<AttentionLowering, 2> pair = {
      gradient_part(builder, node, weight, AttentionPart::key_gradients),
      gradient_part(builder, node, weight, AttentionPart::query_gradients)};
  AttentionLowering &keys = pair[0], &queries = pair[1];
  keys.add_heads(*node.result(1), true, true);
  keys.add_heads(*node.result(2), true, true);
  for (const BodyGradients::One& one : gradients.columns) keys.add_sums(*one.result);
  add_part(keys, node, weight, gradients);
  queries.add_heads(*node.result(0), false, true);
  for (const BodyGradients::One& one : gradients.rows) queries.add_sums(*one.result);
  add_part(queries, node, weight, gradients);
  finish_attention(builder, node, pair);
  for (auto [i, one] : llvm::enumerate(gradients.elements)) {
    AttentionLowering element = gradient_part(builder, node, weight, AttentionPart::element_gradient);
    element.form().keeps_batch = !one.sums(0), element.form().keeps_heads = !one.sums(1);
    element.form().element = static_cast<int>(i);
    element.add_sums(*one.result);
    add_part(element, node, weight, gradients);
    element.finish();
  }
}

}  // namespace smelt
