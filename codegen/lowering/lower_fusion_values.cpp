#include <algorithm>
#include <numeric>

#include "codegen/lowering/fusion_values.h"
#include "ir/analysis/uses.h"
#include "ir/analysis/view.h"
#include "ir/graph/insertion.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// The dims of the draw that a random op is a part of.
Shape shape_of_draw(const Node& random) {
  Shape shape = random.result()->shape();
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (random.has(draw_extent(dim))) shape[dim] = random.get(draw_extent(dim));
  return shape;
}

}  // namespace

void FusionValues::begin_level(int row_block, int column_block) {
  row_ = row_block, column_ = column_block;
  column_values_.clear();
}

/// Read back from where an earlier block has stored it, or computed here.
int FusionValues::column_value(const Value& value) {
  if (!fusion_.is_column(value)) return row_value(value);
  if (auto it = column_values_.find(&value); it != column_values_.end()) return it->second;
  if (auto it = row_values_.find(&value); it != row_values_.end()) return it->second;  // a column accumulator
  const std::optional<int> stored = stored_value(value);
  return column_values_[&value] = stored ? *stored : compute(value, {column_});
}

/// Returns a load of a value that an earlier level has stored exactly. An arithmetic result in a narrower
/// type is rounded by the store; the result of a convert is already rounded.
std::optional<int> FusionValues::stored_value(const Value& value) {
  const auto it = stored_.find(&value);
  const bool exact = value.dtype() == DType::f32 || value.node()->is(Op::convert);
  if (it == stored_.end() || !exact) return std::nullopt;
  fusion_.kernel.params[it->second.param].input = true;
  return load(value.dtype(), fusion_.access(it->second), {column_});
}

/// Computed once and visible to all later blocks.
int FusionValues::row_value(const Value& value) {
  if (auto it = row_values_.find(&value); it != row_values_.end()) return it->second;
  const auto reduction = fusion_.space().reductions.find(value.node());
  const bool sampled =
      reduction != fusion_.space().reductions.end() && reduction->second == IterationSpace::Reduction::first;
  const int number = sampled ? sample(*value.node()) : compute(value, {row_});
  return row_values_[&value] = number;
}

/// Returns a sample in the row block: `first` is the value at column 0, `pivot` the mean over the first
/// columns.
int FusionValues::sample(const Node& node) {
  const FromNode from(fusion_, node);
  const Value& x = *node.operand(0);
  if (node.is(ReduceOp::first) || !fusion_.is_column(x)) return value_at(x, 0);
  const auto apply = [&](ScalarOp op, int a, int b) {
    return fusion_.append(row_,
                          {.kind = Kind::scalar, .dtype = x.dtype(), .operands = {a, b}, .scalar_op = op});
  };
  int sum = value_at(x, 0);
  for (int column = 1; column < kPivotElements; ++column)
    sum = apply(ScalarOp::add, sum, value_at(x, column));
  const int part =
      fusion_.append(row_, {.kind = Kind::constant, .dtype = x.dtype(), .number = 1.0 / kPivotElements});
  return apply(ScalarOp::mul, sum, part);
}

/// The value at one column, in the row block.
int FusionValues::value_at(const Value& value, int column) {
  if (!fusion_.is_column(value)) return row_value(value);
  const std::pair key{&value, column};
  if (auto it = fixed_values_.find(key); it != fixed_values_.end()) return it->second;
  return fixed_values_[key] = compute(value, {row_, column});
}

int FusionValues::operand(const Value& value, Place place) {
  if (place.is_fixed()) return value_at(value, place.column);
  return place.block == column_ ? column_value(value) : row_value(value);
}

std::vector<int> FusionValues::operands_of(const Node& node, Place place) {
  std::vector<int> numbers;
  for (const Value* value : node.operands()) numbers.push_back(operand(*value, place));
  return numbers;
}

int FusionValues::compute(const Value& value, Place place) {
  const Node& node = *value.node();
  const FromNode from(fusion_, node);
  const auto append = [&](Instruction instruction) {
    return fusion_.append(place.block, std::move(instruction));
  };
  switch (node.op()) {
    case Op::input:
      return input(value, place);
    case Op::constant:
      return append({.kind = Kind::constant, .dtype = value.dtype(), .number = node.get(attr::value)});
    case Op::iota:
      return index(node, place);
    case Op::random:
      return random(node, place);
    case Op::broadcast:
    case Op::transpose:
    case Op::stop_gradient:
      return operand(*node.operand(0), place);
    case Op::convert:
      return append({.kind = Kind::convert, .dtype = value.dtype(), .operands = operands_of(node, place)});
    case Op::gather:
      return gather(node, place);
    case Op::pointwise:
      return append({.kind = Kind::scalar,
                     .dtype = value.dtype(),
                     .operands = operands_of(node, place),
                     .scalar_op = node.scalar_op});
    default:
      fail_with(Status::internal, "{} cannot stand in a kernel", node.describe());
  }
}

// ---- memory

int FusionValues::input(const Value& value, Place place) {
  const Layout& layout = *fusion_.outside(*value.node()).layout;
  Access access = fusion_.access(fusion_.param_of(value), layout.strides, fusion_.axes_of(value));
  return load(value.dtype(), std::move(access), place);
}

int FusionValues::load(DType dtype, Access access, Place place) {
  if (place.column > 0) access.offset += access.strides.back() * Dim(place.column);
  for (size_t i = 0; i < access.strides.size() && place.is_fixed(); ++i)
    if (fusion_.is_column_axis(static_cast<int>(i))) access.strides[i] = 0;
  return fusion_.append(place.block, {.kind = Kind::load, .dtype = dtype, .access = std::move(access)});
}

int FusionValues::gather(const Node& node, Place place) {
  const Value& table = *node.operand(0);
  const Layout& layout = *fusion_.outside(*table.node()).layout;
  const auto& axes = fusion_.space().operands.find(&node)->second[0];
  Access from = fusion_.access(fusion_.param_of(table), layout.strides, axes);
  from.computed = operand(*node.operand(1), place);
  from.computed_stride = layout.strides[node.get(attr::axis)];
  return load(node.result()->dtype(), std::move(from), place);
}

// ---- inserts

/// Inside the level's column block where it moves along columns, else in its row block.
int FusionValues::at_any_level(const Value& value) {
  return fusion_.is_column(value) ? column_value(value) : row_value(value);
}

int FusionValues::append_integer(int block, ScalarOp op, int a, int b) {
  const DType dtype = op == ScalarOp::ge ? DType::boolean : DType::i32;
  return fusion_.append(block, {.kind = Kind::scalar, .dtype = dtype, .operands = {a, b}, .scalar_op = op});
}

namespace {

/// Returns the largest stride that all are multiples of: one number times this stride is the position of an
/// element.
Dim common_unit(llvm::ArrayRef<Dim> strides, const Node& insert) {
  if (strides.size() == 1) return strides[0];
  int64_t unit = 0;
  for (const Dim& stride : strides) {
    if (!stride.constant())
      fail("{}: it has several indices, and dims behind the first one's axis are known only at launch",
           insert.describe());
    unit = std::gcd(unit, *stride.constant());
  }
  return std::max<int64_t>(1, unit);
}

}  // namespace

FusionValues::InsertPlace FusionValues::place_of_insert(const Node& insert, const FusionStore& store) {
  const Layout& layout = *store.result->layout;
  std::vector<Dim> strides = layout.strides, steps;
  std::vector<const Value*> indices;
  Dim offset = 0;
  for (const IndexedAxis& along : indexed_axes(insert)) {
    const Dim& step = layout.strides[along.axis];
    if (along.is_place) strides[along.axis] = 0;
    if (const auto begin = whole_splat(along.index); begin && *begin >= 0)
      offset += step * Dim(*begin);
    else
      indices.push_back(along.index), steps.push_back(step);
  }
  InsertPlace place{fusion_.access(store.param, strides, fusion_.axes_of(*insert.result())), -1};
  place.access.offset = offset;
  fusion_.kernel.params[store.param].table_elements = reach(layout, store.result->shape());
  if (indices.empty()) return place;
  place.access.computed_stride = common_unit(steps, insert);
  const bool columns = llvm::any_of(indices, [&](const Value* x) { return fusion_.is_column(*x); });
  add_computed(place, indices, steps, columns ? column_ : row_);
  return place;
}

/// The sum of all indices in units of the computed stride, and whether the least of them is an index.
void FusionValues::add_computed(InsertPlace& place, llvm::ArrayRef<const Value*> indices,
                                llvm::ArrayRef<Dim> steps, int block) {
  const auto number = [&](int64_t value) {
    return fusion_.append(
        block, {.kind = Kind::constant, .dtype = DType::i32, .number = static_cast<double>(value)});
  };
  int least = -1, sum = -1;
  for (auto [value, step] : llvm::zip(indices, steps)) {
    int index = at_any_level(*value);
    least = least < 0 ? index : append_integer(block, ScalarOp::min, least, index);
    if (step != place.access.computed_stride)
      index = append_integer(block, ScalarOp::mul, index,
                             number(*step.constant() / *place.access.computed_stride.constant()));
    sum = sum < 0 ? index : append_integer(block, ScalarOp::add, sum, index);
  }
  place.access.computed = sum;
  place.predicate = append_integer(block, ScalarOp::ge, least, number(0));
}

// ---- indices and random bits

int FusionValues::index(const Node& node, Place place) {
  const int axis = fusion_.axis_of(*node.result(), node.get(attr::axis));
  if (place.is_fixed() && fusion_.is_column_axis(axis)) {
    const int index = fusion_.is_innermost(axis) ? place.column : 0;
    return fusion_.append(
        place.block, {.kind = Kind::constant, .dtype = DType::i32, .number = static_cast<double>(index)});
  }
  return fusion_.append(place.block, {.kind = Kind::index, .dtype = DType::i32, .axis = axis});
}

/// The row of a random op is its own: all dims of its draw but the last, flattened.
int FusionValues::random(const Node& node, Place place) {
  const Value& result = *node.result();
  const Shape whole = shape_of_draw(node);
  Instruction instruction{.kind = Kind::random, .dtype = DType::i32, .slot = draws_.slot_of(node)};
  instruction.random_strides.assign(fusion_.kernel.axes.size(), Dim(0));
  Dim stride = 1;
  for (size_t i = result.shape().size(); i-- > 0;) {
    const int axis = fusion_.axis_of(result, i);
    const bool stands = place.is_fixed() && fusion_.is_column_axis(axis);
    if (i + 1 == result.shape().size()) {
      instruction.random_axis = stands ? -1 : axis;
      instruction.random_begin = stands && fusion_.is_innermost(axis) ? place.column : 0;
      if (node.has(draw_begin(i))) instruction.random_begin += node.get(draw_begin(i));
      continue;
    }
    if (!stands)
      instruction.random_strides[axis] = stride;
    else if (fusion_.is_innermost(axis))
      instruction.random_offset += stride * Dim(place.column);
    if (node.has(draw_begin(i))) instruction.random_offset += stride * node.get(draw_begin(i));
    stride *= whole[i];
  }
  return fusion_.append(place.block, std::move(instruction));
}

}  // namespace smelt
