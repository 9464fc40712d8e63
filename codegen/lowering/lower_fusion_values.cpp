// What the blocks of a kernel compute: a value inside a level's column block, a row scalar, a value at one
// column.
#include "codegen/lowering/fusion_lowering.h"
#include "ir/analysis/view.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {

/// A value inside the level's column block: read back from where an earlier block has stored it, or computed
/// here.
int FusionLowering::column_value(const Value& value) {
  if (!is_column(value)) return row_value(value);
  if (auto it = column_values_.find(&value); it != column_values_.end()) return it->second;
  if (auto it = row_values_.find(&value); it != row_values_.end()) return it->second;  // a column accumulator
  const std::optional<int> stored = stored_value(value);
  return column_values_[&value] = stored ? *stored : compute(value, column_, -1);
}

/// What an earlier level has stored exactly: what arithmetic made in a narrower type is not yet rounded, what
/// a convert made is.
std::optional<int> FusionLowering::stored_value(const Value& value) {
  const auto it = stored_.find(&value);
  const bool exact = value.dtype() == DType::f32 || value.node()->is(Op::convert);
  if (it == stored_.end() || !exact) return std::nullopt;
  const Store& store = *it->second;
  kernel_.params[store.param].input = true;
  return append(column_, {.kind = Kind::load,
                          .dtype = value.dtype(),
                          .access = access(store.param, *store.result->layout, axes_of(value))});
}

/// A row scalar, computed once and visible to all later blocks.
int FusionLowering::row_value(const Value& value) {
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
int FusionLowering::sample(const Node& node) {
  const Value& x = *node.operand(0);
  if (node.is(ReduceOp::first) || !is_column(x)) return value_at(x, 0);
  const auto apply = [&](ScalarOp op, int a, int b) {
    return append(row_, {.kind = Kind::scalar, .dtype = x.dtype(), .operands = {a, b}, .scalar_op = op});
  };
  int sum = value_at(x, 0);
  for (int column = 1; column < kPivotElements; ++column)
    sum = apply(ScalarOp::add, sum, value_at(x, column));
  const int part = append(row_, {.kind = Kind::constant, .dtype = x.dtype(), .number = 1.0 / kPivotElements});
  return apply(ScalarOp::mul, sum, part);
}

/// The value at one column, in the row block.
int FusionLowering::value_at(const Value& value, int column) {
  if (!is_column(value)) return row_value(value);
  const std::pair key{&value, column};
  if (auto it = fixed_values_.find(key); it != fixed_values_.end()) return it->second;
  return fixed_values_[key] = compute(value, row_, column);
}

/// `fixed`: at that column; -1: at every one.
int FusionLowering::operand_value(const Value& value, int block, int fixed) {
  if (fixed >= 0) return value_at(value, fixed);
  return block == column_ ? column_value(value) : row_value(value);
}

int FusionLowering::compute(const Value& value, int block, int fixed) {
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

const Value* FusionLowering::outside(const Node& input) const {
  for (auto [node, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
    if (node == &input) return operand;
  fail_with(Status::internal, "{}: an input without an operand", fusion_.describe());
}

int FusionLowering::load(DType dtype, Access access, int block, int fixed) {
  if (fixed > 0) access.offset += access.strides.back() * Dim(fixed);
  for (size_t i = 0; i < access.strides.size() && fixed >= 0; ++i)
    if (is_column_axis(static_cast<int>(i))) access.strides[i] = 0;
  return append(block, {.kind = Kind::load, .dtype = dtype, .access = std::move(access)});
}

/// A place that two gathers look into may have two shapes: what both reach lies below the sum.
void FusionLowering::note_table(int param, const Dim& elements) {
  Dim& known = kernel_.params[param].table_elements;
  if (known != elements) known += elements;
}

int FusionLowering::gather(const Node& node, int block, int fixed) {
  const auto& axes = space_.operands.find(&node)->second[0];
  const Node& table = *node.operand(0)->node();
  const Layout& layout = *outside(table)->layout;
  Access from = access(param_of_.lookup(node.operand(0)), layout, axes);
  from.computed = operand_value(*node.operand(1), block, fixed);
  from.computed_stride = layout.strides[node.int_attr("axis")];
  note_table(from.param, reach(layout, node.operand(0)->shape()));
  return load(node.result()->dtype(), std::move(from), block, fixed);
}

int FusionLowering::index(const Node& node, int block, int fixed) {
  const int axis = axis_of_[axes_of(*node.result())[node.int_attr("axis")]];
  if (fixed >= 0 && is_column_axis(axis))
    return append(block, {.kind = Kind::constant,
                          .dtype = DType::i32,
                          .number = static_cast<double>(is_innermost(axis) ? fixed : 0)});
  return append(block, {.kind = Kind::index, .dtype = DType::i32, .axis = axis});
}

/// The row of a random op is its own: all its dims but the last, flattened.
int FusionLowering::random(const Node& node, int block, int fixed) {
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

int FusionLowering::random_slot(const Node& node) {
  const auto id = static_cast<uint32_t>(node.int_attr("id"));
  auto it = llvm::find(random_ids_, id);
  if (it == random_ids_.end()) it = random_ids_.insert(it, id);
  return static_cast<int>(it - random_ids_.begin());
}

}  // namespace smelt
