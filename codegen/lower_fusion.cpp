// A fusion's body as a kernel: one block a level of the iteration space, every block computing from memory,
// row scalars and cached columns what it needs; sums over the rows become partial sums and a finishing
// kernel.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codegen/finish_partial_sums.h"
#include "codegen/program_builder.h"
#include "codegen/schedule.h"
#include "ir/iteration_space.h"
#include "ir/view.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

using Scope = KernelBlock::Scope;
using Kind = Instruction::Kind;
using Reduction = IterationSpace::Reduction;

/// Rows longer than this are computed again rather than kept in a scratch row.
constexpr int64_t kLongestCachedRow = 16384;

class FusionLowering {
 public:
  FusionLowering(ProgramBuilder& builder, const Node& fusion)
      : builder_(builder), fusion_(fusion), body_(*fusion.body), space_(space_of(fusion)) {}

  void run() {
    kernel_.name = fusion_name();
    if (builder_.target().is_cuda() && only_sums_columns()) reduce_all_rows();
    add_axes();
    add_params();
    for (int level = 0; level < space_.levels; ++level) emit_level(level);
    kernel_.random_slots = static_cast<int>(random_ids_.size());
    add_kernel_step();
    finish_partials();
  }

 private:
  static IterationSpace space_of(const Node& fusion) {
    IterationSpaceResult result = iteration_space(*fusion.body);
    if (!result.space)
      fail_with(Status::internal, "{}: its body is no kernel: {}", fusion.describe(), result.reason);
    return std::move(*result.space);
  }

  /// What stands at the heart of the body, for people who read kernel names.
  std::string fusion_name() const {
    int reductions = 0, loads = static_cast<int>(fusion_.operands().size());
    for (const auto& node : body_.nodes()) reductions += node->is(Op::reduce);
    return fmt::format("{}{}x{}", reductions ? "reduce" : "map", loads, fusion_.result_count());
  }

  // ---- sums over all rows and nothing else: a GPU walks down tiles of columns, without partial sums

  bool only_sums_columns() const {
    if (space_.count(AxisKind::column) == 0 || space_.count(AxisKind::reduced) != 0) return false;
    const auto is_sum = [this](const Value& value) {
      const Value* sum = partial_sum(value);
      if (sum == nullptr) return false;
      const Node* reduce = value.node()->is(Op::reduce) ? value.node() : value.node()->operand(0)->node();
      return space_.reductions.lookup(reduce) == Reduction::column;
    };
    return llvm::all_of(body_.outputs, [&](const auto& output) { return is_sum(*output.value); }) &&
           llvm::all_of(space_.reductions, [](const auto& r) { return r.second == Reduction::column; });
  }

  void reduce_all_rows() {
    for (IterationSpace::Axis& axis : space_.axes)
      if (axis.kind == AxisKind::parallel) axis.kind = AxisKind::reduced;
    for (auto& reduction : space_.reductions) reduction.second = Reduction::segment;
    for (const auto& output : body_.outputs)
      if (!output.value->node()->is(Op::reduce)) space_.level[output.value->node()] = 1, space_.levels = 2;
  }

  // ---- axes and params

  void add_axes() {
    axis_of_.assign(space_.axes.size(), -1);
    for (AxisKind kind : {AxisKind::parallel, AxisKind::reduced, AxisKind::column})
      for (size_t i = 0; i < space_.axes.size(); ++i) {
        if (space_.axes[i].kind != kind) continue;
        axis_of_[i] = static_cast<int>(kernel_.axes.size());
        kernel_.axes.push_back({kind, axis_name(kind), space_.axes[i].extent});
      }
  }

  std::string axis_name(AxisKind kind) const {
    const auto count =
        llvm::count_if(kernel_.axes, [&](const KernelAxis& axis) { return axis.kind == kind; });
    return fmt::format("{}{}",
                       kind == AxisKind::parallel ? 'r'
                       : kind == AxisKind::column ? 'c'
                                                  : 'k',
                       count);
  }

  void add_params() {
    for (auto [input, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
      param_of_[input->result()] = add_param(*operand->layout, operand->dtype(), false);
    for (auto [i, output] : llvm::enumerate(body_.outputs)) {
      const Value* result = fusion_.result(static_cast<unsigned>(i));
      if (const Value* sum = partial_sum(*output.value))
        partials_.push_back(add_partial(*sum, *result));
      else
        stores_.push_back({output.value, result, add_param(*result->layout, result->dtype(), true)});
    }
  }

  /// One param a place in memory: an input that is read along two different axes is one pointer.
  int add_param(const Layout& layout, DType dtype, bool output) {
    for (size_t i = 0; i < arguments_.size() && !output; ++i)
      if (arguments_[i] == BufferRef{layout.buffer, layout.offset} && !kernel_.params[i].output)
        return static_cast<int>(i);
    kernel_.params.push_back({.name = fmt::format("{}{}", output ? "y" : "x", arguments_.size()),
                              .dtype = dtype,
                              .output = output,
                              .input = !output});
    arguments_.push_back({layout.buffer, layout.offset});
    return static_cast<int>(arguments_.size()) - 1;
  }

  struct Partial {
    const Value* value;   // the reduce's result in the body
    const Value* result;  // of the fusion
    int param, buffer;
    Shape columns;  // what a chunk's slice holds
  };

  /// The sum over chunks that an output is, or is the rounding of; null for other outputs.
  const Value* partial_sum(const Value& value) const {
    auto it = space_.reductions.find(value.node());
    if (it == space_.reductions.end())
      return value.node()->is(Op::convert) ? partial_sum(*value.node()->operand(0)) : nullptr;
    return it->second == Reduction::column || it->second == Reduction::full ? &value : nullptr;
  }

  Partial add_partial(const Value& value, const Value& result) {
    const Dim elements = element_count(value.shape());
    const int buffer = builder_.add_buffer(fusion_.source + " (partial sums)", Role::workspace, value.dtype(),
                                           elements * splits());
    kernel_.params.push_back({.name = fmt::format("p{}", arguments_.size()),
                              .dtype = value.dtype(),
                              .output = true,
                              .input = false,
                              .partial = true,
                              .partial_elements = elements});
    arguments_.push_back({buffer, 0});
    return {&value, &result, static_cast<int>(arguments_.size()) - 1, buffer, value.shape()};
  }

  // ---- blocks

  void emit_level(int level) {
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
  void store_last() {
    const auto is_store = [this](int number) { return kernel_.instructions[number].kind == Kind::store; };
    for (KernelBlock& block : kernel_.blocks)
      std::stable_partition(block.instructions.begin(), block.instructions.end(), std::not_fn(is_store));
  }

  struct Store {
    const Value* value;
    const Value* result;
    int param;
  };

  /// A row reduction's result is there one level after its operand.
  int ready_level(const Value& value) const {
    auto it = space_.reductions.find(value.node());
    const bool later =
        it != space_.reductions.end() && (it->second == Reduction::row || it->second == Reduction::segment);
    return space_.level.lookup(value.node()) + (later ? 1 : 0);
  }

  bool has_segment() const {
    return llvm::any_of(space_.reductions,
                        [](const auto& entry) { return entry.second == Reduction::segment; });
  }

  void drop_empty_blocks() {
    llvm::erase_if(kernel_.blocks, [](const KernelBlock& block) { return block.instructions.empty(); });
  }

  bool is_column(const Value& value) const {
    const auto& axes = axes_of(value);
    return space_.follows(axes, AxisKind::column) || space_.follows(axes, AxisKind::reduced);
  }

  const IterationSpace::Axes& axes_of(const Value& value) const {
    if (auto it = space_.results.find(&value); it != space_.results.end()) return it->second;
    const Node* user = value.users().front();  // an input of the body: all its uses follow the same axes
    const auto& operands = space_.operands.find(user)->second;
    return operands[llvm::find(user->operands(), &value) - user->operands().begin()];
  }

  int append(int block, Instruction instruction) {
    kernel_.instructions.push_back(std::move(instruction));
    const int number = static_cast<int>(kernel_.instructions.size()) - 1;
    kernel_.blocks[block].instructions.push_back(number);
    return number;
  }

  // ---- reductions and stores

  void reduce(const Node& node) {
    const Reduction kind = space_.reductions[&node];
    const Value& operand = *node.operand(0);
    if (kind == Reduction::first) return;  // computed where it is read
    if (kind == Reduction::row || kind == Reduction::segment) return emit_reduce(node, operand);
    const Partial& partial =
        *llvm::find_if(partials_, [&](const Partial& p) { return p.value == node.result(); });
    accumulate(partial, kind, operand);
  }

  void emit_reduce(const Node& node, const Value& operand) {
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
  void accumulate(const Partial& partial, Reduction kind, const Value& operand) {
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
  void append_behind(Scope scope, Instruction instruction) {
    kernel_.blocks.push_back({scope, {}});
    append(static_cast<int>(kernel_.blocks.size()) - 1, std::move(instruction));
  }

  Access partial_access(const Partial& partial) const {
    Access access{.param = partial.param, .strides = std::vector<Dim>(kernel_.axes.size(), Dim(0))};
    const std::vector<Dim> strides = dense_strides(partial.columns);
    for (auto [i, axis] : llvm::enumerate(space_.results.find(partial.value)->second))
      access.strides[axis_of_[axis]] = strides[i];
    return access;
  }

  void emit_store(const Store& store) {
    const bool column = is_column(*store.value);
    const int value = column ? column_value(*store.value) : row_value(*store.value);
    if (ready_level(*store.value) > level_) {
      // The result of this level's reduction is stored behind the block that makes it.
      return append_behind(column ? Scope::column : Scope::row, store_instruction(store, value));
    }
    append(column ? column_ : row_, store_instruction(store, value));
    if (column) stored_[store.value] = &store;
  }

  Instruction store_instruction(const Store& store, int value) const {
    return {.kind = Kind::store,
            .dtype = store.result->dtype(),
            .operands = {value},
            .access = access(store.param, *store.result->layout, axes_of(*store.value))};
  }

  Access access(int param, const Layout& layout, const IterationSpace::Axes& axes) const {
    Access access{.param = param, .strides = std::vector<Dim>(kernel_.axes.size(), Dim(0))};
    for (auto [i, axis] : llvm::enumerate(axes))
      if (axis >= 0) access.strides[axis_of_[axis]] = layout.strides[i];
    return access;
  }

  // ---- values

  /// A value inside the level's column block: kept from before, read back, or computed here.
  int column_value(const Value& value) {
    if (!is_column(value)) return row_value(value);
    if (auto it = column_values_.find(&value); it != column_values_.end()) return it->second;
    if (auto it = row_values_.find(&value); it != row_values_.end())
      return it->second;  // a column accumulator
    if (auto kept = kept_value(value)) return column_values_[&value] = *kept;
    const int number = compute(value, column_, -1);
    column_values_[&value] = number;
    first_column_values_.try_emplace(&value, number);
    return number;
  }

  /// A column value of an earlier block: from its stored result, or from a scratch row if it is dear.
  std::optional<int> kept_value(const Value& value) {
    auto earlier = first_column_values_.find(&value);
    if (earlier == first_column_values_.end()) return std::nullopt;
    // What arithmetic made in a narrower type is not yet rounded; what a convert made is.
    const bool exact = value.dtype() == DType::f32 || value.node()->is(Op::convert);
    if (auto it = stored_.find(&value); it != stored_.end() && exact) {
      const Store& store = *it->second;
      kernel_.params[store.param].input = true;
      return append(column_, {.kind = Kind::load,
                              .dtype = value.dtype(),
                              .access = access(store.param, *store.result->layout, axes_of(value))});
    }
    if (!is_dear(*value.node()) || !fits_scratch()) return std::nullopt;
    kernel_.schedule.cached.push_back(earlier->second);
    return earlier->second;
  }

  static bool is_dear(const Node& node) {
    if (node.is(Op::random)) return true;
    if (node.is(Op::pointwise) && smelt::is_dear(node.scalar_op)) return true;
    // What reads a random number directly is kept in its place.
    return llvm::any_of(node.operands(),
                        [](const Value* operand) { return operand->node()->is(Op::random); });
  }

  int64_t splits() const { return partial_splits(builder_.target()); }

  /// A GPU has no scratch rows: its schedule decides what stays in registers.
  bool fits_scratch() const {
    if (builder_.target().is_cuda()) return false;
    if (space_.count(AxisKind::column) != 1 || space_.count(AxisKind::reduced) != 0) return false;
    return builder_.symbols().upper(kernel_.axes.back().extent) <= kLongestCachedRow;
  }

  /// A row scalar, computed once and visible to all later blocks.
  int row_value(const Value& value) {
    if (auto it = row_values_.find(&value); it != row_values_.end()) return it->second;
    const auto reduction = space_.reductions.find(value.node());
    int number = 0;
    if (reduction != space_.reductions.end() && reduction->second == Reduction::first)
      number = sample(*value.node());
    else
      number = compute(value, row_, -1);
    return row_values_[&value] = number;
  }

  /// `first` is the value at column 0, `pivot` the mean over the first columns; both stand in the row block.
  int sample(const Node& node) {
    const Value& x = *node.operand(0);
    if (node.is(ReduceOp::first) || !is_column(x)) return value_at(x, 0);
    const auto apply = [&](ScalarOp op, int a, int b) {
      return append(row_, {.kind = Kind::scalar, .dtype = x.dtype(), .operands = {a, b}, .scalar_op = op});
    };
    int sum = value_at(x, 0);
    for (int column = 1; column < kPivotElements; ++column)
      sum = apply(ScalarOp::add, sum, value_at(x, column));
    const int part =
        append(row_, {.kind = Kind::constant, .dtype = x.dtype(), .number = 1.0 / kPivotElements});
    return apply(ScalarOp::mul, sum, part);
  }

  /// The value at one column, in the row block.
  int value_at(const Value& value, int column) {
    if (!is_column(value)) return row_value(value);
    const std::pair key{&value, column};
    if (auto it = fixed_values_.find(key); it != fixed_values_.end()) return it->second;
    return fixed_values_[key] = compute(value, row_, column);
  }

  /// `fixed`: at that column; -1: at every one.
  int operand_value(const Value& value, int block, int fixed) {
    if (fixed >= 0) return value_at(value, fixed);
    return block == column_ ? column_value(value) : row_value(value);
  }

  int compute(const Value& value, int block, int fixed) {
    const Node& node = *value.node();
    const auto operand = [&](unsigned i) { return operand_value(*node.operand(i), block, fixed); };
    switch (node.op()) {
      case Op::input: {
        const Layout& layout = *outside(node)->layout;
        return load(value.dtype(), access(param_of_.lookup(&value), layout, axes_of(value)), block, fixed);
      }
      case Op::constant:
        return append(block,
                      {.kind = Kind::constant, .dtype = value.dtype(), .number = node.float_attr("value")});
      case Op::iota:
        return index(node, block, fixed);
      case Op::random:
        return random(node, block, fixed);
      case Op::broadcast:
      case Op::transpose:
      case Op::stop_gradient:
        return operand(0);
      case Op::convert:
        return append(block, {.kind = Kind::convert,
                              .dtype = value.dtype(),
                              .operands = node.operands().size() == 2 ? std::vector{operand(0), operand(1)}
                                                                      : std::vector{operand(0)}});
      case Op::gather:
        return gather(node, block, fixed);
      case Op::pointwise: {
        std::vector<int> operands;
        for (unsigned i = 0; i < node.operands().size(); ++i) operands.push_back(operand(i));
        return append(block, {.kind = Kind::scalar,
                              .dtype = value.dtype(),
                              .operands = std::move(operands),
                              .scalar_op = node.scalar_op});
      }
      default:
        fail_with(Status::internal, "{} cannot stand in a kernel", node.describe());
    }
  }

  const Value* outside(const Node& input) const {
    for (auto [node, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
      if (node == &input) return operand;
    fail_with(Status::internal, "{}: an input without an operand", fusion_.describe());
  }

  bool is_column_axis(int axis) const { return kernel_.axes[axis].kind != AxisKind::parallel; }

  int load(DType dtype, Access access, int block, int fixed) {
    if (fixed > 0) access.offset += access.strides.back() * Dim(fixed);
    for (size_t i = 0; i < access.strides.size() && fixed >= 0; ++i)
      if (is_column_axis(static_cast<int>(i))) access.strides[i] = 0;
    return append(block, {.kind = Kind::load, .dtype = dtype, .access = std::move(access)});
  }

  int gather(const Node& node, int block, int fixed) {
    const auto& axes = space_.operands.find(&node)->second[0];
    const Node& table = *node.operand(0)->node();
    const Layout& layout = *outside(table)->layout;
    Access from = access(param_of_.lookup(node.operand(0)), layout, axes);
    from.computed = operand_value(*node.operand(1), block, fixed);
    from.computed_stride = layout.strides[node.int_attr("axis")];
    return load(node.result()->dtype(), std::move(from), block, fixed);
  }

  bool is_innermost(int axis) const { return axis + 1 == static_cast<int>(kernel_.axes.size()); }

  int index(const Node& node, int block, int fixed) {
    const int axis = axis_of_[axes_of(*node.result())[node.int_attr("axis")]];
    if (fixed >= 0 && is_column_axis(axis))
      return append(block, {.kind = Kind::constant,
                            .dtype = DType::i32,
                            .number = static_cast<double>(is_innermost(axis) ? fixed : 0)});
    return append(block, {.kind = Kind::index, .dtype = DType::i32, .axis = axis});
  }

  /// The row of a random op is its own: all its dims but the last, flattened.
  int random(const Node& node, int block, int fixed) {
    Instruction instruction{.kind = Kind::random, .dtype = DType::i32, .slot = random_slot(node)};
    instruction.random_strides.assign(kernel_.axes.size(), Dim(0));
    const auto& axes = axes_of(*node.result());
    Dim stride = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const int axis = axis_of_[axes[i]];
      const bool stands = fixed >= 0 && is_column_axis(axis);
      if (i + 1 == axes.size()) {
        instruction.random_axis = stands ? -1 : axis;
        instruction.random_column = stands && is_innermost(axis) ? fixed : 0;
        continue;
      }
      if (!stands)
        instruction.random_strides[axis] = stride;
      else if (is_innermost(axis))
        instruction.random_offset += stride * Dim(fixed);
      stride *= node.result()->shape()[i];
    }
    return append(block, std::move(instruction));
  }

  int random_slot(const Node& node) {
    const auto id = static_cast<uint32_t>(node.int_attr("id"));
    auto it = llvm::find(random_ids_, id);
    if (it == random_ids_.end()) it = random_ids_.insert(it, id);
    return static_cast<int>(it - random_ids_.begin());
  }

  // ---- steps

  void add_kernel_step() {
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
  std::vector<std::pair<int, int>> in_place_pairs() const {
    std::vector<std::pair<int, int>> pairs;
    for (const Store& store : stores_)
      for (auto [input, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
        if (can_alias(store, *operand, param_of_.lookup(input->result())))
          pairs.push_back({store.result->layout->buffer, operand->layout->buffer});
    return pairs;
  }

  bool can_alias(const Store& store, const Value& operand, int param) const {
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

  bool follows_rows(const Access& read, const Access& place) const {
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      const bool parallel = kernel_.axes[i].kind == AxisKind::parallel;
      if (parallel ? read.strides[i] != place.strides[i] : !read.strides[i].is_zero()) return false;
    }
    return read.computed < 0;
  }

  void finish_partials() {
    std::vector<PartialSum> sums;
    for (const Partial& partial : partials_)
      sums.push_back({partial.buffer, partial.columns, partial.value->dtype(), *partial.result->layout,
                      partial.result->dtype()});
    finish_partial_sums(builder_, sums, splits());
  }

  ProgramBuilder& builder_;
  const Node& fusion_;
  const Graph& body_;
  mutable IterationSpace space_;
  Kernel kernel_;
  std::vector<int> axis_of_;  // of the space -> of the kernel
  std::vector<BufferRef> arguments_;
  llvm::DenseMap<const Value*, int> param_of_;
  std::vector<Store> stores_;
  std::vector<Partial> partials_;
  std::vector<uint32_t> random_ids_;

  int level_ = 0, row_ = 0, column_ = 0;  // the blocks at hand
  llvm::DenseMap<const Value*, int> row_values_, column_values_, first_column_values_;
  llvm::DenseMap<std::pair<const Value*, int>, int> fixed_values_;  // by value and column
  llvm::DenseMap<const Value*, const Store*> stored_;
};

}  // namespace

void lower_fusion(ProgramBuilder& builder, const Node& fusion) { FusionLowering(builder, fusion).run(); }

}  // namespace smelt
