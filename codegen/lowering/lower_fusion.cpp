// A fusion's body as a kernel: one block a level of the iteration space, every block computing from memory,
// row scalars and cached columns what it needs; sums over the rows become partial sums and a finishing
// kernel.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codegen/kernel_passes/column_sums.h"
#include "codegen/kernel_passes/keep_columns.h"
#include "codegen/lowering/finish_partial_sums.h"
#include "codegen/lowering/fusion_lowering.h"
#include "ir/analysis/view.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

IterationSpace space_of(const Node& fusion) {
  IterationSpaceResult result = iteration_space(*fusion.body);
  if (!result.space)
    fail_with(Status::internal, "{}: its body is no kernel: {}", fusion.describe(), result.reason);
  return std::move(*result.space);
}

}  // namespace

FusionLowering::FusionLowering(ProgramBuilder& builder, const Node& fusion)
    : builder_(builder), fusion_(fusion), body_(*fusion.body), space_(space_of(fusion)) {}

void FusionLowering::run() {
  kernel_.name = fusion_name();
  add_axes();
  add_params();
  for (int level = 0; level < space_.levels; ++level) emit_level(level);
  kernel_.random_slots = static_cast<int>(random_ids_.size());
  if (builder_.target().is_cuda() && sum_columns_at_once()) return add_kernel_step();
  if (!builder_.target().is_cuda()) keep_expensive_columns();
  add_partial_buffers();
  add_kernel_step();
  finish_partials();
}

/// What stands at the heart of the body, for people who read kernel names.
std::string FusionLowering::fusion_name() const {
  int reductions = 0, loads = static_cast<int>(fusion_.operands().size());
  for (const auto& node : body_.nodes()) reductions += node->is(Op::reduce);
  return fmt::format("{}{}x{}", reductions ? "reduce" : "map", loads, fusion_.result_count());
}

// ---- axes and params

void FusionLowering::add_axes() {
  axis_of_.assign(space_.axes.size(), -1);
  for (AxisKind kind : {AxisKind::parallel, AxisKind::reduced, AxisKind::column})
    for (size_t i = 0; i < space_.axes.size(); ++i) {
      if (space_.axes[i].kind != kind) continue;
      axis_of_[i] = static_cast<int>(kernel_.axes.size());
      kernel_.axes.push_back({kind, axis_name(kind), space_.axes[i].extent});
    }
}

std::string FusionLowering::axis_name(AxisKind kind) const {
  const auto count = llvm::count_if(kernel_.axes, [&](const KernelAxis& axis) { return axis.kind == kind; });
  return fmt::format("{}{}", kind == AxisKind::parallel ? 'r' : kind == AxisKind::column ? 'c' : 'k', count);
}

void FusionLowering::add_params() {
  for (auto [input, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
    param_of_[input->result()] = add_param(*operand, false);
  for (auto [i, output] : llvm::enumerate(body_.outputs)) {
    const Value* result = fusion_.result(static_cast<unsigned>(i));
    if (const Value* sum = partial_sum(*output.value))
      partials_.push_back(add_partial(*sum, *result));
    else
      stores_.push_back({output.value, result, add_param(*result, true)});
  }
}

/// One param a place in memory: an input that is read along two different axes is one pointer.
int FusionLowering::add_param(const Value& value, bool output) {
  const Layout& layout = *value.layout;
  const std::optional<IndexBounds> indices = builder_.indices(value);
  for (size_t i = 0; i < arguments_.size() && !output; ++i)
    if (arguments_[i] == BufferRef{layout.buffer, layout.offset} && !kernel_.params[i].output) {
      if (kernel_.params[i].indices != indices) kernel_.params[i].indices.reset();
      return static_cast<int>(i);
    }
  kernel_.params.push_back({.name = fmt::format("{}{}", output ? "y" : "x", arguments_.size()),
                            .dtype = value.dtype(),
                            .output = output,
                            .input = !output,
                            .indices = indices});
  arguments_.push_back({layout.buffer, layout.offset});
  return static_cast<int>(arguments_.size()) - 1;
}

/// The sum over chunks that an output is, or is the rounding of; null for other outputs.
const Value* FusionLowering::partial_sum(const Value& value) const {
  auto it = space_.reductions.find(value.node());
  if (it == space_.reductions.end())
    return value.node()->is(Op::convert) ? partial_sum(*value.node()->operand(0)) : nullptr;
  return it->second == Reduction::column || it->second == Reduction::full ? &value : nullptr;
}

FusionLowering::Partial FusionLowering::add_partial(const Value& value, const Value& result) {
  kernel_.params.push_back({.name = fmt::format("p{}", arguments_.size()),
                            .dtype = value.dtype(),
                            .output = true,
                            .input = false,
                            .partial = true,
                            .partial_elements = element_count(value.shape())});
  arguments_.emplace_back();
  return {&value, &result, static_cast<int>(arguments_.size()) - 1, value.shape()};
}

// ---- blocks

void FusionLowering::emit_level(int level) {
  level_ = level;
  const bool segment = has_segment() && level == 0;
  row_ = static_cast<int>(kernel_.blocks.size());
  kernel_.blocks.push_back({Scope::row, {}});
  column_ = static_cast<int>(kernel_.blocks.size());
  kernel_.blocks.push_back({segment ? Scope::reduced : Scope::column, {}});
  column_values_.clear();
  for (const auto& node : body_.nodes())
    if (node->is(Op::reduce) && space_.level[node.get()] == level) reduce(*node);
  for (const Store& store : stores_)
    if (space_.level[store.value->node()] == level) emit_store(store);
  store_last();
  drop_empty_blocks();
}

/// Stores at the end of their block: what is read there may then be overwritten in place.
void FusionLowering::store_last() {
  const auto is_store = [this](int number) { return kernel_.instructions[number].kind == Kind::store; };
  for (KernelBlock& block : kernel_.blocks)
    std::stable_partition(block.instructions.begin(), block.instructions.end(), std::not_fn(is_store));
}

/// A row reduction's result is there one level after its operand.
int FusionLowering::ready_level(const Value& value) const {
  auto it = space_.reductions.find(value.node());
  const bool later =
      it != space_.reductions.end() && (it->second == Reduction::row || it->second == Reduction::segment);
  return space_.level.lookup(value.node()) + (later ? 1 : 0);
}

bool FusionLowering::has_segment() const {
  return llvm::any_of(space_.reductions,
                      [](const auto& entry) { return entry.second == Reduction::segment; });
}

void FusionLowering::drop_empty_blocks() {
  llvm::erase_if(kernel_.blocks, [](const KernelBlock& block) { return block.instructions.empty(); });
}

bool FusionLowering::is_column(const Value& value) const {
  const auto& axes = axes_of(value);
  return space_.follows(axes, AxisKind::column) || space_.follows(axes, AxisKind::reduced);
}

const IterationSpace::Axes& FusionLowering::axes_of(const Value& value) const {
  if (auto it = space_.results.find(&value); it != space_.results.end()) return it->second;
  const Node* user = value.users().front();  // an input of the body: all its uses follow the same axes
  const auto& operands = space_.operands.find(user)->second;
  return operands[llvm::find(user->operands(), &value) - user->operands().begin()];
}

int FusionLowering::append(int block, Instruction instruction) {
  kernel_.instructions.push_back(std::move(instruction));
  const int number = static_cast<int>(kernel_.instructions.size()) - 1;
  kernel_.blocks[block].instructions.push_back(number);
  return number;
}

// ---- reductions and stores

void FusionLowering::reduce(const Node& node) {
  const Reduction kind = space_.reductions[&node];
  const Value& operand = *node.operand(0);
  if (kind == Reduction::first) return;  // computed where it is read
  if (kind == Reduction::row || kind == Reduction::segment) return emit_reduce(node, operand);
  const Partial& partial =
      *llvm::find_if(partials_, [&](const Partial& p) { return p.value == node.result(); });
  accumulate(partial, kind, operand);
}

void FusionLowering::emit_reduce(const Node& node, const Value& operand) {
  const int number = append(column_, {.kind = Kind::reduce,
                                      .dtype = node.result()->dtype(),
                                      .operands = {column_value(operand)},
                                      .reduce_op = node.reduce_op});
  row_values_[node.result()] = number;
  for (unsigned i = 1; i < node.result_count(); ++i)
    row_values_[node.result(i)] = append(column_, {.kind = Kind::result,
                                                   .dtype = node.result(i)->dtype(),
                                                   .operands = {number},
                                                   .slot = static_cast<int>(i)});
}

/// A full sum of columns is reduced along the row first; rows add up chunk by chunk.
void FusionLowering::accumulate(const Partial& partial, Reduction kind, const Value& operand) {
  if (kind == Reduction::column) {
    append(column_, {.kind = Kind::accumulate,
                     .dtype = operand.dtype(),
                     .operands = {column_value(operand)},
                     .access = partial_access(partial)});
    return;
  }
  int value = 0;
  if (is_column(operand))
    value = append(column_, {.kind = Kind::reduce,
                             .dtype = operand.dtype(),
                             .operands = {column_value(operand)},
                             .reduce_op = ReduceOp::add});
  else
    value = row_value(operand);
  append_behind(Scope::row, {.kind = Kind::accumulate,
                             .dtype = operand.dtype(),
                             .operands = {value},
                             .access = partial_access(partial)});
}

/// Code that follows the level's column block.
void FusionLowering::append_behind(Scope scope, Instruction instruction) {
  kernel_.blocks.push_back({scope, {}});
  append(static_cast<int>(kernel_.blocks.size()) - 1, std::move(instruction));
}

Access FusionLowering::partial_access(const Partial& partial) const {
  Access access{.param = partial.param, .strides = std::vector<Dim>(kernel_.axes.size(), Dim(0))};
  const std::vector<Dim> strides = dense_strides(partial.columns);
  for (auto [i, axis] : llvm::enumerate(space_.results.find(partial.value)->second))
    access.strides[axis_of_[axis]] = strides[i];
  return access;
}

void FusionLowering::emit_store(const Store& store) {
  const bool column = is_column(*store.value);
  const int value = column ? column_value(*store.value) : row_value(*store.value);
  if (ready_level(*store.value) > level_) {
    // The result of this level's reduction is stored behind the block that makes it.
    return append_behind(column ? Scope::column : Scope::row, store_instruction(store, value));
  }
  append(column ? column_ : row_, store_instruction(store, value));
  if (column) stored_[store.value] = &store;
}

Instruction FusionLowering::store_instruction(const Store& store, int value) const {
  return {.kind = Kind::store,
          .dtype = store.result->dtype(),
          .operands = {value},
          .access = access(store.param, *store.result->layout, axes_of(*store.value))};
}

Access FusionLowering::access(int param, const Layout& layout, const IterationSpace::Axes& axes) const {
  Access access{.param = param, .strides = std::vector<Dim>(kernel_.axes.size(), Dim(0))};
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis >= 0) access.strides[axis_of_[axis]] = layout.strides[i];
  return access;
}

/// In a scratch row. Memory that is not read again may be overwritten in place, so this comes before the
/// step. (A GPU's schedule decides what stays in registers.)
void FusionLowering::keep_expensive_columns() {
  constexpr int64_t kLongestRow = 16384;
  const bool rows = space_.count(AxisKind::column) == 1 && space_.count(AxisKind::reduced) == 0;
  if (rows && builder_.symbols().upper(kernel_.axes.back().extent) <= kLongestRow)
    keep_columns(kernel_, {.expensive_only = true, .forward_stores = false});
}

// ---- sums over rows

/// Sums over all rows and nothing else need no partial sums where tiles of columns are walked down.
bool FusionLowering::sum_columns_at_once() {
  if (llvm::any_of(space_.reductions, [](const auto& r) { return r.second != Reduction::column; }))
    return false;
  std::vector<ColumnSum> sums;
  for (const Partial& partial : partials_) {
    const Access place =
        access(partial.param, *partial.result->layout, space_.results.find(partial.value)->second);
    sums.push_back({partial.param, partial.result->dtype(), place.strides});
  }
  if (!sum_columns_in_tiles(kernel_, sums)) return false;
  for (const Partial& partial : partials_) {
    arguments_[partial.param] = {partial.result->layout->buffer, partial.result->layout->offset};
    stores_.push_back({partial.value, partial.result, partial.param});
  }
  return true;
}

void FusionLowering::add_partial_buffers() {
  for (Partial& partial : partials_) {
    partial.buffer = builder_.add_buffer(fusion_.source + " (partial sums)", Role::workspace,
                                         partial.value->dtype(), element_count(partial.columns) * splits());
    arguments_[partial.param] = {partial.buffer, 0};
  }
}

// ---- steps

void FusionLowering::add_kernel_step() {
  std::vector<int> reads, writes;
  for (auto [param, argument] : llvm::zip(kernel_.params, arguments_))
    (param.output ? writes : reads).push_back(argument.buffer);
  const auto aliases = in_place_pairs();
  KernelStep step{.kernel = builder_.add_kernel(std::move(kernel_), arguments_),
                  .arguments = arguments_,
                  .random_ids = random_ids_};
  builder_.add_step(std::move(step), std::move(reads), std::move(writes)).may_alias = aliases;
}

/// An output may take an input's memory where each element is read, at its own place, no later than it is
/// written.
std::vector<std::pair<int, int>> FusionLowering::in_place_pairs() const {
  std::vector<std::pair<int, int>> pairs;
  for (const Store& store : stores_)
    for (auto [input, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
      if (can_alias(store, *operand, param_of_.lookup(input->result())))
        pairs.push_back({store.result->layout->buffer, operand->layout->buffer});
  return pairs;
}

bool FusionLowering::can_alias(const Store& store, const Value& operand, int param) const {
  const Value& result = *store.result;
  if (operand.dtype() != result.dtype() || operand.shape() != result.shape()) return false;
  if (operand.layout->strides != result.layout->strides || operand.layout->offset != result.layout->offset)
    return false;
  bool written = false, safe = true;
  Access place;
  for (const KernelBlock& block : kernel_.blocks)
    for (int number : block.instructions)
      if (const Instruction& i = kernel_.instructions[number];
          i.kind == Kind::store && i.access.param == store.param)
        place = i.access;
  for (const KernelBlock& block : kernel_.blocks) {
    for (int number : block.instructions) {
      const Instruction& i = kernel_.instructions[number];
      if (i.kind == Kind::store && i.access.param == store.param) written = true;
      if (i.kind != Kind::load || i.access.param != param) continue;
      const bool same_place = i.access.strides == place.strides && i.access.computed < 0;
      // Row code may read column 0 of its own row before any column of it is written.
      const bool own_row = block.scope == Scope::row && follows_rows(i.access, place);
      safe &= !written && (same_place || own_row);
    }
  }
  return safe;
}

bool FusionLowering::follows_rows(const Access& read, const Access& place) const {
  for (size_t i = 0; i < kernel_.axes.size(); ++i) {
    const bool parallel = kernel_.axes[i].kind == AxisKind::parallel;
    if (parallel ? read.strides[i] != place.strides[i] : !read.strides[i].is_zero()) return false;
  }
  return read.computed < 0;
}

void FusionLowering::finish_partials() {
  std::vector<PartialSum> sums;
  for (const Partial& partial : partials_)
    sums.push_back({partial.buffer, partial.columns, partial.value->dtype(), *partial.result->layout,
                    partial.result->dtype()});
  finish_partial_sums(builder_, sums, splits());
}

void lower_fusion(ProgramBuilder& builder, const Node& fusion) { FusionLowering(builder, fusion).run(); }

}  // namespace smelt
