// scatter_add and scatter as a sort of the indices, and a sum or the last of each segment: row r of the
// result gets the updates whose index is r, in the order of their positions, so the result is the same on
// every run. Rows without updates are not touched.
#include <fmt/format.h>

#include "codegen/cuda/sort_kernels.h"
#include "codegen/lowering/program_builder.h"
#include "ir/analysis/view.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

/// Returns the dims of the result other than the scattered one; the last is the column.
std::vector<int64_t> other_dims(const Node& scatter) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < scatter.result()->rank(); ++i)
    if (i != scatter.get(attr::axis)) others.push_back(i);
  return others;
}

/// The result's rows in parallel, what is added to a row reduced: the two last axes are the reduced one and
/// the column.
std::vector<KernelAxis> axes_of_sum(const Node& scatter) {
  const Shape& shape = scatter.result()->shape();
  const std::vector<int64_t> others = other_dims(scatter);
  std::vector<KernelAxis> axes = {{AxisKind::parallel, "r0", shape[scatter.get(attr::axis)]}};
  for (size_t i = 0; i + 1 < others.size(); ++i)
    axes.push_back({AxisKind::parallel, fmt::format("r{}", i + 1), shape[others[i]]});
  axes.push_back({AxisKind::reduced, "i", element_count(scatter.operand(1)->shape()), 0, 1});
  axes.push_back({AxisKind::column, "c0", others.empty() ? Dim(1) : shape[others.back()]});
  return axes;
}

struct SumAccesses {
  Access updates, permutation, begin, end, result;
};

/// `position`: the value that selects the update to read.
SumAccesses accesses_of_sum(const Node& scatter, const Layout& source, size_t axes, int position) {
  const Layout& target = *scatter.result()->layout;
  const int64_t indexed = scatter.operand(1)->rank(), axis = scatter.get(attr::axis);
  const auto access = [&](int param) {
    return Access{.param = param, .strides = std::vector<Dim>(axes, Dim(0))};
  };
  SumAccesses all{access(0), access(1), access(2), access(2), access(3)};
  all.begin.strides[0] = all.end.strides[0] = 1, all.end.offset = 1;
  all.permutation.strides[axes - 2] = 1;
  all.updates.computed = position;
  all.updates.computed_stride = indexed ? source.strides[axis + indexed - 1] : Dim(0);
  all.result.strides[0] = target.strides[axis];
  const std::vector<int64_t> others = other_dims(scatter);
  for (size_t i = 0; i < others.size(); ++i) {
    const size_t place = i + 1 == others.size() ? axes - 1 : i + 1;
    all.result.strides[place] = target.strides[others[i]];
    all.updates.strides[place] = source.strides[others[i] < axis ? others[i] : others[i] + indexed - 1];
  }
  return all;
}

/// The last axis but one, of a kernel that reads one update of each row.
void drop_reduced_axis(std::vector<KernelAxis>& axes, SumAccesses& at) {
  const auto drop = [](auto& list) { list.erase(list.end() - 2); };
  drop(axes);
  for (Access* access : {&at.updates, &at.permutation, &at.begin, &at.end, &at.result}) drop(access->strides);
}

std::vector<KernelParam> params_of_sum(const Node& scatter, const Layout& source) {
  const Value& updates = *scatter.operand(2);
  const Dim count = element_count(scatter.operand(1)->shape());
  return {{.name = "updates", .dtype = updates.dtype(), .table_elements = reach(source, updates.shape())},
          {.name = "permutation", .dtype = DType::i32, .indices = IndexBounds{0, count}},
          {.name = "begins", .dtype = DType::i32, .indices = IndexBounds{0, count + 1}},
          {.name = "y", .dtype = scatter.result()->dtype(), .output = true, .input = true}};
}

/// out[r, ...] += sum over i in [begins[r], begins[r+1]) of updates[permutation[i], ...], r along the
/// scattered axis.
Kernel segmented_sum(const Node& scatter, const Layout& source) {
  const DType dtype = scatter.result()->dtype(), update = scatter.operand(2)->dtype();
  const DType sum = is_float(dtype) ? DType::f32 : dtype;
  Kernel kernel;
  kernel.name = "segmented_sum";
  kernel.params = params_of_sum(scatter, source);
  kernel.axes = axes_of_sum(scatter);
  const SumAccesses at = accesses_of_sum(scatter, source, kernel.axes.size(), /*position=*/3);
  kernel.instructions = {
      {.kind = Kind::load, .dtype = DType::i32, .access = at.begin},
      {.kind = Kind::load, .dtype = DType::i32, .access = at.end},
      {.kind = Kind::scalar, .dtype = DType::boolean, .operands = {0, 1}, .scalar_op = ScalarOp::lt},
      {.kind = Kind::load, .dtype = DType::i32, .access = at.permutation},
      {.kind = Kind::load, .dtype = update, .access = at.updates},
      {.kind = Kind::reduce, .dtype = sum, .operands = {4}, .reduce_op = ReduceOp::add},
      {.kind = Kind::load, .dtype = dtype, .access = at.result},
      {.kind = Kind::scalar, .dtype = sum, .operands = {6, 5}, .scalar_op = ScalarOp::add},
      {.kind = Kind::store, .dtype = dtype, .operands = {7}, .access = at.result},
  };
  kernel.row_predicate = 2;
  kernel.blocks = {{Scope::row, {0, 1, 2}}, {Scope::reduced, {3, 4, 5}}, {Scope::column, {6, 7, 8}}};
  return kernel;
}

/// out[r, ...] = updates[permutation[begins[r+1] - 1], ...] where begins[r] < begins[r+1], r along the
/// scattered axis. The column reads the permutation, because a row without updates has no last one.
Kernel last_of_segment(const Node& scatter, const Layout& source) {
  const DType dtype = scatter.result()->dtype();
  Kernel kernel;
  kernel.name = "last_of_segment";
  kernel.params = params_of_sum(scatter, source);
  kernel.params[1].table_elements = element_count(scatter.operand(1)->shape());
  kernel.axes = axes_of_sum(scatter);
  SumAccesses at = accesses_of_sum(scatter, source, kernel.axes.size(), /*position=*/5);
  at.permutation.computed = 4, at.permutation.computed_stride = 1;
  drop_reduced_axis(kernel.axes, at);
  kernel.instructions = {
      {.kind = Kind::load, .dtype = DType::i32, .access = at.begin},
      {.kind = Kind::load, .dtype = DType::i32, .access = at.end},
      {.kind = Kind::scalar, .dtype = DType::boolean, .operands = {0, 1}, .scalar_op = ScalarOp::lt},
      {.kind = Kind::constant, .dtype = DType::i32, .number = 1},
      {.kind = Kind::scalar, .dtype = DType::i32, .operands = {1, 3}, .scalar_op = ScalarOp::sub},
      {.kind = Kind::load, .dtype = DType::i32, .access = at.permutation},
      {.kind = Kind::load, .dtype = dtype, .access = at.updates},
      {.kind = Kind::store, .dtype = dtype, .operands = {6}, .access = at.result},
  };
  kernel.row_predicate = 2;
  kernel.blocks = {{Scope::row, {0, 1, 2, 3, 4}}, {Scope::column, {5, 6, 7}}};
  return kernel;
}

/// Integers whose range is known may be indices: loading a plan proves it of every element that a kernel may
/// read, which padding between rows is none of.
bool may_be_indices(const ProgramBuilder& builder, const Node& scatter) {
  return builder.indices(*scatter.result()).has_value();
}

/// The layouts of dense indices, and of updates whose indexed dims can be walked as one.
struct Sources {
  Layout indices, updates;
};

Sources sources_of(ProgramBuilder& builder, const Node& scatter) {
  const Value &indices = *scatter.operand(1), &updates = *scatter.operand(2);
  const bool dense = is_dense(indices.shape(), indices.layout->strides);
  const std::vector<Dim>& strides = updates.layout->strides;
  const bool even = may_be_indices(builder, scatter)
                        ? is_dense(updates.shape(), strides)
                        : lies_evenly(updates.shape(), strides, scatter.get(attr::axis), indices.rank());
  Layout index = dense ? *indices.layout : dense_copy(builder, indices, scatter.source);
  return {std::move(index), even ? *updates.layout : dense_copy(builder, updates, scatter.source)};
}

/// The result of sorting the indices, in buffers.
struct Order {
  int permutation = -1;  // positions by their index
  int begins = -1;       // where each row's part of it begins
};

Order add_sort(ProgramBuilder& builder, const Node& scatter, const Layout& indices) {
  const Dim count = element_count(scatter.operand(1)->shape()),
            rows = scatter.result()->shape()[scatter.get(attr::axis)];
  const int permutation = builder.add_buffer(scatter.source + " (order)", Role::workspace, DType::i32, count);
  const int begins =
      builder.add_buffer(scatter.source + " (segments)", Role::workspace, DType::i32, rows + 1);
  SortIndexStep sort{{indices.buffer, indices.offset}, {permutation, 0}, {begins, 0}, count, rows};
  if (const auto radix = radix_sort(count, rows, builder.symbols()); radix && builder.target().can.launches) {
    const Dim elements = radix->workspace(count);
    const int buffer =
        builder.add_buffer(scatter.source + " (digits)", Role::workspace, DType::i32, elements);
    sort.workspace = {{buffer, 0}, elements};
  }
  builder.add_step(std::move(sort));
  return {permutation, begins};
}

}  // namespace

bool lies_evenly(const Shape& shape, const std::vector<Dim>& strides, int64_t axis, int64_t count) {
  for (int64_t i = axis; i + 1 < axis + count; ++i)
    if (strides[i] != strides[i + 1] * shape[i + 1]) return false;
  return true;
}

Layout dense_copy(ProgramBuilder& builder, const Value& value, const std::string& source) {
  const int buffer = builder.add_buffer(source, Role::temporary, value.dtype(), element_count(value.shape()));
  const Layout layout{buffer, 0, dense_strides(value.shape())};
  builder.copy(*value.layout, layout, value.shape(), value);
  return layout;
}

namespace {

using MakeKernel = Kernel (*)(const Node&, const Layout&);

/// Rows without updates keep what init has put there, which has the range, too.
void note_ranges(const ProgramBuilder& builder, const Node& scatter, Kernel& kernel) {
  if (!may_be_indices(builder, scatter)) return;
  kernel.params[0].indices = builder.indices(*scatter.operand(2));
  kernel.params[3].indices = builder.indices(*scatter.result());
}

/// The kernel changes what init has left where the result goes.
void lower_segments(ProgramBuilder& builder, const Node& scatter, MakeKernel make) {
  const Value &init = *scatter.operand(0), &result = *scatter.result();
  const Layout& out = *result.layout;
  builder.copy(*init.layout, out, result.shape(), init);
  const auto [indices, from] = sources_of(builder, scatter);
  const auto [permutation, begins] = add_sort(builder, scatter, indices);
  const std::vector<BufferRef> arguments = {
      {from.buffer, from.offset}, {permutation, 0}, {begins, 0}, {out.buffer, out.offset}};
  Kernel kernel = make(scatter, from);
  note_ranges(builder, scatter, kernel);
  KernelStep step{
      .kernel = builder.add_kernel(std::move(kernel), arguments), .arguments = arguments, .random_ids = {}};
  builder.add_step(std::move(step), {from.buffer, permutation, begins, out.buffer}, {out.buffer});
}

}  // namespace

void lower_scatter_add(ProgramBuilder& builder, const Node& scatter) {
  lower_segments(builder, scatter, segmented_sum);
}

void lower_scatter(ProgramBuilder& builder, const Node& scatter) {
  lower_segments(builder, scatter, last_of_segment);
}

}  // namespace smelt
