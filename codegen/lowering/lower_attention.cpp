// Attention and its gradient on a GPU, as kernels whose templates are around the body. The body is lowered as
// a fusion over [b,h,t,s] whose inputs are the block arguments and whose outputs are the returned values; the
// template then gives and takes these.
#include "codegen/cuda/attention/decode_parts.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/lowering/attention_fusion.h"
#include "codegen/lowering/template_lowering.h"
#include "ir/analysis/attention_form.h"
#include "ir/analysis/view.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

}  // namespace

bool TemplateLowering::takes_wgmma() {
  const Target& target = builder_.target();
  if (!target.can.wgmma || target.attention == AttentionTemplates::mma) return false;
  if (form_.places >= 0 || form_.part_keys > 0) return false;
  kernel_.attention = form_;
  return wgmma_tiles(kernel_).has_value();
}

bool TemplateLowering::takes_few() const {
  return form_.part_keys == 0 || fits_few_parts(form_, builder_.target().compute_capability);
}

Dim TemplateLowering::few_blocks() const {
  const DecodeAttention few{
      .queries = 1, .alone = true, .compute_capability = builder_.target().compute_capability};
  AttentionKernel alone = form_;
  alone.tiles = few_tiles(form_, few, builder_.symbols());
  return alone.blocks();
}

void TemplateLowering::take_few(int64_t queries, bool alone) {
  const DecodeAttention few{queries, alone, builder_.target().compute_capability};
  const FewTiles tiles = few_tiles(form_, few, builder_.symbols());
  form_.tiles = tiles;
  const Dim partials = few_partials(form_, tiles);
  if (partials.is_zero()) return;
  const int buffer = builder_.add_buffer(node_.source + " (parts)", Role::workspace, DType::f32, partials);
  form_.workspace = add(DType::f32, {buffer, 0}, false, true);
}

std::vector<AttentionTileRows> TemplateLowering::tile_rows() const {
  const Dim& rows = form_.part == AttentionPart::key_gradients ? form_.keys : form_.queries;
  return mma_tile_rows(form_.part, form_.width, builder_.target().compute_capability,
                       builder_.symbols().upper(rows), form_.part_keys);
}

void TemplateLowering::allow_wgmma(int query_sums, int counters) {
  allow_wgmma();
  const bool makes = form_.part == AttentionPart::key_gradients;
  form_.query_sums = add(DType::f32, {query_sums, 0}, !makes, makes);
  form_.counters = add(DType::i32, {counters, 0}, true, true);
}

void TemplateLowering::add_body(llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed) {
  if (!node_.body) return leave_scores();
  AttentionFusion body(node_);
  for (const auto& [slot, value] : llvm::enumerate(handed))
    body.hand(value->type, static_cast<int>(slot), dense_strides(value->shape()), value);
  body.copy_body();
  for (const Value* output : outputs) body.add_output(body.twin(output), dense_strides(output->shape()));
  FusionKernel fusion(builder_, body.finish());
  FusionBlocks blocks(fusion);
  blocks.emit();
  take_body(fusion, blocks.draws());
}

/// The body of a node without one: the score is what it is.
void TemplateLowering::leave_scores() {
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
void TemplateLowering::take_params(const FusionKernel& fusion, std::vector<int>& numbers) {
  numbers.assign(fusion.kernel.params.size(), -1);
  for (size_t i = 0; i < fusion.kernel.params.size(); ++i) {
    const BufferRef& argument = fusion.arguments[i];
    if (argument.buffer <= kFirstHanded) continue;
    numbers[i] = add_argument(fusion.kernel.params[i], argument);
  }
}

void TemplateLowering::take_body(const FusionKernel& fusion, const RandomDraws& draws) {
  std::vector<int> numbers;
  take_params(fusion, numbers);
  kernel_.axes = fusion.kernel.axes;
  kernel_.blocks = {{KernelBlock::Scope::column, {}}};
  kernel_.random_slots = fusion.kernel.random_slots;
  draws_ = draws;
  form_.returned.assign(fusion.stores.size(), -1);  // the last one ties the others together
  for (size_t dim = 0; dim < 4; ++dim) form_.axes.push_back(fusion.axis_of(*fusion.stores[0].value, dim));
  kernel_.instructions = fusion.kernel.instructions;
  std::vector<int> order;
  for (const KernelBlock& block : fusion.kernel.blocks)
    for (const int id : block.instructions) {
      Instruction& x = kernel_.instructions[static_cast<size_t>(id)];
      x.origin = {};  // it was a copy of the node's body
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

/// Places those instructions, in order, that the returned ones need.
void TemplateLowering::place(llvm::ArrayRef<int> order) {
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

/// A part of the gradient: what it reads is the same for all.
TemplateLowering gradient_part(ProgramBuilder& builder, const Node& node, const AttentionWeight& weight,
                               AttentionPart part) {
  TemplateLowering lowering(builder, node, part);
  for (unsigned i = 0; i < 4; ++i) lowering.add_heads(*node.operand(i), i == 1 || i == 2, false);
  lowering.add_rows(*weight.lse, false);
  lowering.add_rows(*weight.delta, false);
  return lowering;
}

void add_part(TemplateLowering& lowering, const Node& node, const AttentionWeight& weight,
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
  if (!builder.target().can.attention_kernels) return lower_attention_by_blocks(builder, node);
  TemplateLowering lowering(builder, node, AttentionPart::forward);
  lowering.add_heads(*node.operand(0), false, false);
  lowering.add_keys_and_values();
  lowering.add_heads(*node.result(0), false, true);
  lowering.add_places();
  lowering.add_scales();
  if (node.result_count() > 2) lowering.add_heads(*node.result(2), false, true);
  lowering.add_rows(*node.result(1), true);
  const bool is_narrow = size_of(node.operand(0)->dtype()) == 2;
  if (builder.target().same_bits && is_narrow) lowering.form().part_keys = kPartKeys;
  llvm::SmallVector<const Value*, 2> outputs, handed;
  if (node.body) {
    for (const Graph::Output& output : node.body->outputs) outputs.push_back(output.value);
    handed.push_back(handed_values(node).front());
  }
  lowering.add_body(outputs, handed);
  finish_attention(builder, node, lowering);
}

void lower_attention_grad(ProgramBuilder& builder, const Node& node) {
  if (!builder.target().can.attention_kernels) return lower_attention_grad_by_blocks(builder, node);
  const BodyGradients gradients(node);
  const AttentionWeight weight = *attention_weight(node);
  llvm::SmallVector<TemplateLowering, 2> pair = {
      gradient_part(builder, node, weight, AttentionPart::key_gradients),
      gradient_part(builder, node, weight, AttentionPart::query_gradients)};
  TemplateLowering &keys = pair[0], &queries = pair[1];
  keys.add_heads(*node.result(1), true, true);
  keys.add_heads(*node.result(2), true, true);
  for (const BodyGradients::One& one : gradients.columns) keys.add_sums(*one.result);
  add_part(keys, node, weight, gradients);
  queries.add_heads(*node.result(0), false, true);
  for (const BodyGradients::One& one : gradients.rows) queries.add_sums(*one.result);
  add_part(queries, node, weight, gradients);
  finish_attention(builder, node, pair);
  for (auto [i, one] : llvm::enumerate(gradients.elements)) {
    TemplateLowering element = gradient_part(builder, node, weight, AttentionPart::element_gradient);
    element.form().keeps_batch = !one.sums(0), element.form().keeps_heads = !one.sums(1);
    element.form().element = static_cast<int>(i);
    element.add_sums(*one.result);
    add_part(element, node, weight, gradients);
    element.finish();
  }
}

}  // namespace smelt
