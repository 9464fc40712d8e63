// Attention and its gradient as kernels whose templates are around the body. The body is lowered as a fusion
// over [b,h,t,s] of which the handed values are inputs and the returned ones outputs; these then are the
// template's.
#include <functional>

#include "codegen/cuda/attention/wgmma_kernel.h"
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

/// One kernel of an attention node under construction.
class AttentionLowering {
 public:
  AttentionLowering(ProgramBuilder& builder, const Node& node) : builder_(builder), node_(node) {
    const Shape &q = node.operand(0)->shape(), &k = node.operand(1)->shape();
    kernel_.name = "attention";
    form_.scale = node.float_attr("scale");
    form_.width = *q[3].constant();
    form_.batch = q[0], form_.heads = q[2], form_.key_heads = k[2];
    form_.queries = q[1], form_.keys = k[1];
  }

  AttentionKernel& form() { return form_; }

  // ---- parameters, in the order in which the template has them

  void add_heads(const Value& value, bool of_keys, bool written) {
    const auto& strides = value.layout->strides;
    form_.matrices.push_back({add(value, written), of_keys, strides[0], strides[1], strides[2]});
  }
  /// f32[batch, heads, queries], compact: what is not is copied.
  void add_rows(const Value& value, bool written) {
    const Layout dense{value.layout->buffer, value.layout->offset, dense_strides(value.shape())};
    if (*value.layout == dense) return form_.rows.push_back(add(value, written));
    if (written) fail_with(Status::internal, "{}: its rows are not compact", node_.describe());
    const int copy =
        builder_.add_buffer(node_.source, Role::temporary, value.dtype(), element_count(value.shape()));
    builder_.copy(*value.layout, {copy, 0, dense.strides}, value.shape(), value);
    form_.rows.push_back(add(value, {copy, 0}, written));
  }
  void add_sums(const Value& value) { form_.sums.push_back(add(value, true)); }

  /// Lowers the body, of whose outputs `outputs` are wanted; `handed` says which of its inputs the template
  /// gives, by their slots.
  void add_body(llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed);

  /// Whether templates for sm_90a take it; all but what gradients share is there.
  bool takes_wgmma() {
    if (builder_.target().compute_capability != kWgmmaCapability || !builder_.target().has_wgmma)
      return false;
    kernel_.attention = form_;
    return wgmma_tiles(kernel_).has_value();
  }
  void allow_wgmma() { form_.has_wgmma = true; }
  /// Of gradients, in buffers with these numbers.
  void allow_wgmma(int query_sums, int counters) {
    allow_wgmma();
    const bool makes = form_.part == AttentionPart::key_gradients;
    form_.query_sums = add(DType::f32, {query_sums, 0}, !makes, makes);
    form_.counters = add(DType::i32, {counters, 0}, true, true);
  }

  void finish() {
    std::vector<int> reads, writes;
    const auto note = [](std::vector<int>& list, int buffer) {
      if (!llvm::is_contained(list, buffer)) list.push_back(buffer);
    };
    for (auto [param, argument] : llvm::zip(kernel_.params, arguments_)) {
      if (param.input) note(reads, argument.buffer);
      if (param.output) note(writes, argument.buffer);
    }
    kernel_.attention = std::move(form_);
    KernelStep step{.kernel = builder_.add_kernel(std::move(kernel_), arguments_),
                    .arguments = arguments_,
                    .random_ids = random_ids_};
    builder_.add_step(std::move(step), std::move(reads), std::move(writes));
  }

 private:
  int add(const Value& value, bool written) {
    return add(value, {value.layout->buffer, value.layout->offset}, written);
  }
  int add(const Value& value, BufferRef place, bool written) {
    return add(value.dtype(), std::move(place), !written, written);
  }
  int add(DType dtype, BufferRef place, bool read, bool written) {
    const auto param = static_cast<int>(arguments_.size());
    kernel_.params.push_back({.name = fmt::format("{}{}", written ? 'y' : 'x', param),
                              .dtype = dtype,
                              .output = written,
                              .input = read,
                              .alignment = builder_.alignment(place)});
    arguments_.push_back(std::move(place));
    return param;
  }

  void take_body(const FusionKernel& fusion, std::vector<uint32_t> ids);
  void leave_scores();
  void place(llvm::ArrayRef<int> order);
  void take_params(const FusionKernel& fusion, std::vector<int>& numbers);

  ProgramBuilder& builder_;
  const Node& node_;
  AttentionKernel form_;
  Kernel kernel_;
  std::vector<BufferRef> arguments_;
  std::vector<uint32_t> random_ids_;
};

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

/// Where templates for sm_90a take both, the first also adds up dq, which the second only rounds.
void finish_pair(ProgramBuilder& builder, const Node& node, AttentionLowering& keys,
                 AttentionLowering& queries) {
  if (keys.takes_wgmma() && queries.takes_wgmma()) {
    const WgmmaShared shared = wgmma_shared(keys.form());
    const int sums =
        builder.add_buffer(node.source + " (dq)", Role::workspace, DType::f32, shared.query_sums);
    const int counters =
        builder.add_buffer(node.source + " (order)", Role::workspace, DType::i32, shared.counters);
    builder.fill(counters, 0, shared.counters, 0);
    keys.allow_wgmma(sums, counters), queries.allow_wgmma(sums, counters);
  }
  keys.finish(), queries.finish();
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
  if (lowering.takes_wgmma()) lowering.allow_wgmma();
  lowering.finish();
}

void lower_attention_grad(ProgramBuilder& builder, const Node& node) {
  const BodyGradients gradients(node);
  const AttentionWeight weight = *attention_weight(node);
  AttentionLowering keys = gradient_part(builder, node, weight, AttentionPart::key_gradients);
  keys.add_heads(*node.result(1), true, true);
  keys.add_heads(*node.result(2), true, true);
  for (const BodyGradients::One& one : gradients.columns) keys.add_sums(*one.result);
  add_part(keys, node, weight, gradients);
  AttentionLowering queries = gradient_part(builder, node, weight, AttentionPart::query_gradients);
  queries.add_heads(*node.result(0), false, true);
  for (const BodyGradients::One& one : gradients.rows) queries.add_sums(*one.result);
  add_part(queries, node, weight, gradients);
  finish_pair(builder, node, keys, queries);
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
