// Attention and its gradient on a CPU, by blocks of queries and keys (runtime/cpu/attention.h). The kernel is
// the body over a block, in forward with the online softmax (Milakov and Gimelshein, 2018) around it. Scores
// and values computed from them are in tiles, which are parameters without an argument in the step.
#include <algorithm>
#include <limits>

#include "codegen/lowering/attention_fusion.h"
#include "codegen/lowering/attention_lowering.h"
#include "ir/analysis/attention_form.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr int kQueries = 128, kKeys = 256;
/// Threads that may work at the same time; their memory is part of the plan.
constexpr int64_t kMostLanes = 64;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class BlockLowering : public AttentionLowering {
 public:
  BlockLowering(ProgramBuilder& builder, const Node& node, AttentionPart part)
      : AttentionLowering(builder, node, part), fusion_(node) {}

  void add_forward();
  /// Adds a gradient; `outputs` are its values with the numbers of their tiles.
  void add_gradient(llvm::ArrayRef<std::pair<const Value*, int>> outputs);

 private:
  void choose_tiles();
  void add_workspace();
  std::vector<Dim> strides(bool is_row) const;
  Value* hand(int tile, bool is_row, const Value* value = nullptr);
  void give(Value* value, int tile);
  Value* modified_score() const;
  void take();
  void take_params(const FusionKernel& fusion);
  void take_code(const FusionKernel& fusion);
  void drop_stores(const FusionKernel& fusion);
  void drop_unneeded();
  void make_rows(const FusionKernel& fusion);

  AttentionFusion fusion_;
  std::vector<int> tile_of_;  // of the fusion's outputs; -1: it is not stored
  std::vector<int> numbers_;  // of the fusion's parameters here
};

/// Small problems have small tiles, of whole vectors.
void BlockLowering::choose_tiles() {
  const Symbols& symbols = builder_.symbols();
  const auto at_most = [&](const Dim& extent, int most) {
    return static_cast<int>(std::min<int64_t>(symbols.upper(round_up(extent, 16)), most));
  };
  BlockTiles tiles{at_most(form_.queries, kQueries), at_most(form_.keys, kKeys), 1};
  // At least two lanes, so that a single item also runs inside a parallel region and its products take one
  // thread.
  tiles.lanes = static_cast<int>(std::clamp<int64_t>(symbols.upper(item_count(form_, tiles)), 2, kMostLanes));
  form_.tiles = tiles;
}

void BlockLowering::add_workspace() {
  const BlockTiles& tiles = *form_.blocked();
  const int buffer = builder_.add_buffer(node_.source + " (blocks)", Role::workspace, DType::f32,
                                         lane_layout(form_, tiles).elements * int64_t{tiles.lanes});
  form_.workspace = add(DType::f32, {buffer, 0}, false, true);
}

/// Returns the strides of a tile, whose base is where the block would begin if the tile had all scores.
std::vector<Dim> BlockLowering::strides(bool is_row) const {
  if (is_row) return {0, 0, 1};
  return {0, 0, form_.blocked()->keys, 1};
}

Value* BlockLowering::hand(int tile, bool is_row, const Value* value) {
  Shape shape = {form_.batch, form_.heads, form_.queries};
  if (!is_row) shape.push_back(form_.keys);
  return fusion_.hand({DType::f32, std::move(shape)}, tile, strides(is_row), value);
}

void BlockLowering::give(Value* value, int tile) {
  fusion_.add_output(value, strides(value->rank() == 3));
  tile_of_.push_back(tile);
}

/// maximum, sum: of a row's exponentials so far. Its sums of values so far are to be multiplied by `factor`.
void BlockLowering::add_forward() {
  choose_tiles();
  add_workspace();
  const auto tile = [](ForwardTile which) { return static_cast<int>(which); };
  const auto own = handed_values(node_);
  Value *score = hand(tile(ForwardTile::score), false, own.empty() ? nullptr : own.front()),
        *old = hand(tile(ForwardTile::maximum), true), *sum = hand(tile(ForwardTile::sum), true);
  fusion_.copy_body();
  GraphBuilder& b = fusion_.builder();
  Value *modified = score, *weight_factor = nullptr;
  if (node_.body) {
    const auto& outputs = node_.body->outputs;
    modified = fusion_.twin(outputs[0].value);
    if (outputs.size() > 1) weight_factor = fusion_.twin(outputs[1].value);
  }
  Value* maximum = b.max(old, b.reduce(ReduceOp::max, modified, {3}));
  Value* base = b.select(b.eq(maximum, b.like(maximum, -kInfinity)), b.like(maximum, 0), maximum);
  Value* power = b.exp(b.sub(modified, b.broadcast(base, {0, 1, 2}, modified->shape())));
  Value* factor = b.exp(b.sub(old, base));
  give(modified, tile(ForwardTile::score));  // in its place, where the second sweep reads it
  give(weight_factor ? b.mul(power, weight_factor) : power, tile(ForwardTile::weight));
  give(maximum, tile(ForwardTile::new_maximum));
  give(b.add(b.mul(sum, factor), b.sum(power, {3})), tile(ForwardTile::new_sum));
  give(factor, tile(ForwardTile::factor));
  take();
}

void BlockLowering::add_gradient(llvm::ArrayRef<std::pair<const Value*, int>> outputs) {
  choose_tiles();
  add_workspace();
  const auto own = handed_values(node_);
  hand(static_cast<int>(GradientTile::score), false, own[0]);
  hand(static_cast<int>(GradientTile::product), false, own[1]);
  fusion_.copy_body();
  const auto weight = attention_weight(node_);
  give(fusion_.twin(weight ? weight->modified : outputs[0].first), -1);
  for (const auto& [value, tile] : outputs) give(fusion_.twin(value), tile);
  take();
}

void BlockLowering::take() {
  FusionKernel fusion(builder_, fusion_.finish());
  FusionBlocks blocks(fusion);
  blocks.emit();
  draws_ = blocks.draws();
  tile_of_.push_back(-1);  // what ties the others together
  take_params(fusion);
  take_code(fusion);
  make_rows(fusion);
}

/// First the body's arguments, then all tiles, whether or not the code needs them.
void BlockLowering::take_params(const FusionKernel& fusion) {
  numbers_.assign(fusion.kernel.params.size(), -1);
  for (const auto& [i, argument] : llvm::enumerate(fusion.arguments))
    if (argument.buffer > kFirstHanded) numbers_[i] = add_argument(fusion.kernel.params[i], argument);
  form_.tile_params = tile_count(form_);
  const auto first = static_cast<int>(kernel_.params.size());
  for (int tile = 0; tile < form_.tile_params; ++tile)
    kernel_.params.push_back({.name = fmt::format("tile{}", tile), .dtype = DType::f32, .input = false});
  for (const auto& [i, argument] : llvm::enumerate(fusion.arguments)) {
    if (argument.buffer > kFirstHanded) continue;
    const bool is_output = argument.buffer <= returned_buffer(0);
    const int tile = is_output ? tile_of_[static_cast<size_t>(returned_buffer(0) - argument.buffer)]
                               : kFirstHanded - argument.buffer;
    if (tile < 0) continue;
    numbers_[i] = first + tile;
    KernelParam& param = kernel_.params[static_cast<size_t>(numbers_[i])];
    param.output |= is_output, param.input |= !is_output;
  }
  for (KernelParam& param : kernel_.params) param.input |= !param.output;
}

void BlockLowering::take_code(const FusionKernel& fusion) {
  kernel_.axes = fusion.kernel.axes;
  kernel_.blocks = fusion.kernel.blocks;
  kernel_.instructions = fusion.kernel.instructions;
  kernel_.random_slots = fusion.kernel.random_slots;
  drop_stores(fusion);
  for (Instruction& x : kernel_.instructions)
    if (x.access.param >= 0) x.access.param = numbers_[static_cast<size_t>(x.access.param)];
  drop_unneeded();
}

/// Drops the stores of outputs that have no tile. The first output is the modified score.
void BlockLowering::drop_stores(const FusionKernel& fusion) {
  const int modified = fusion.stores.front().param;
  for (auto [id, x] : llvm::enumerate(kernel_.instructions)) {
    if (x.kind != Kind::store) continue;
    if (x.access.param == modified) form_.returned = {x.operands[0]};
    if (numbers_[static_cast<size_t>(x.access.param)] >= 0) continue;
    for (KernelBlock& block : kernel_.blocks) llvm::erase(block.instructions, static_cast<int>(id));
    x = {.kind = Kind::constant, .dtype = DType::f32};
  }
}

/// Drops instructions that no store needs.
void BlockLowering::drop_unneeded() {
  std::vector<bool> needed(kernel_.instructions.size());
  for (KernelBlock& block : llvm::reverse(kernel_.blocks))
    for (const int id : llvm::reverse(block.instructions)) {
      const Instruction& x = kernel_.instructions[static_cast<size_t>(id)];
      if (x.kind == Kind::store) needed[static_cast<size_t>(id)] = true;
      if (!needed[static_cast<size_t>(id)]) continue;
      for (const int operand : x.operands) needed[static_cast<size_t>(operand)] = true;
      if (x.predicate >= 0) needed[static_cast<size_t>(x.predicate)] = true;
    }
  for (KernelBlock& block : kernel_.blocks)
    llvm::erase_if(block.instructions, [&](int id) { return !needed[static_cast<size_t>(id)]; });
  llvm::erase_if(kernel_.blocks, [](const KernelBlock& block) { return block.instructions.empty(); });
}

/// The range is that of rows [b,h,t], and a row's columns are keys.
void BlockLowering::make_rows(const FusionKernel& fusion) {
  for (size_t dim = 0; dim < 4; ++dim)
    form_.axes.push_back(fusion.axis_of(*fusion.stores.front().value, dim));
  if (form_.axes != std::vector<int64_t>{0, 1, 2, 3} || kernel_.axes.size() != 4)
    fail_with(Status::internal, "{}: its body does not follow [b,h,t,s]", node_.describe());
  for (size_t axis = 0; axis < 3; ++axis) kernel_.axes[axis].kind = AxisKind::parallel;
}

void add_operands(BlockLowering& lowering, const Node& node) {
  for (unsigned i = 0; i < 4; ++i) lowering.add_heads(*node.operand(i), i == 1 || i == 2, false);
}

int argument_tile(size_t which) {
  return static_cast<int>(GradientTile::of_arguments) + static_cast<int>(which);
}

void lower_gradients(ProgramBuilder& builder, const Node& node, const BodyGradients& gradients) {
  BlockLowering lowering(builder, node, AttentionPart::gradients);
  AttentionKernel& form = lowering.form();
  add_operands(lowering, node);
  for (unsigned i = 0; i < 3; ++i) lowering.add_heads(*node.result(i), i > 0, true);
  form.row_gradients = static_cast<int>(gradients.rows.size());
  form.column_gradients = static_cast<int>(gradients.columns.size());
  llvm::SmallVector<std::pair<const Value*, int>, 6> outputs = {
      {node.body->outputs[0].value, static_cast<int>(GradientTile::weight)},
      {node.body->outputs[1].value, static_cast<int>(GradientTile::score_gradient)}};
  for (const auto* list : {&gradients.rows, &gradients.columns})
    for (const BodyGradients::One& one : *list) {
      outputs.emplace_back(one.per_score, argument_tile(form.sums.size()));
      lowering.add_sums(*one.result);
    }
  lowering.add_gradient(outputs);
  lowering.finish();
}

void lower_element_gradient(ProgramBuilder& builder, const Node& node, const BodyGradients::One& one) {
  BlockLowering lowering(builder, node, AttentionPart::element_gradient);
  AttentionKernel& form = lowering.form();
  add_operands(lowering, node);
  form.keeps_batch = !one.sums(0), form.keeps_heads = !one.sums(1);
  form.element_gradients = 1;
  lowering.add_sums(*one.result);
  lowering.add_gradient({{one.per_score, argument_tile(0)}});
  lowering.finish();
}

}  // namespace

void lower_attention_by_blocks(ProgramBuilder& builder, const Node& node) {
  BlockLowering lowering(builder, node, AttentionPart::forward);
  lowering.add_heads(*node.operand(0), false, false);
  lowering.add_keys_and_values();
  lowering.add_heads(*node.result(0), false, true);
  lowering.add_places();
  lowering.add_scales();
  lowering.add_rows(*node.result(1), true);
  lowering.add_forward();
  lowering.finish();
}

void lower_attention_grad_by_blocks(ProgramBuilder& builder, const Node& node) {
  const BodyGradients gradients(node);
  lower_gradients(builder, node, gradients);
  for (const BodyGradients::One& one : gradients.elements) lower_element_gradient(builder, node, one);
}

}  // namespace smelt
