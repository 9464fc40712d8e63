// scatter_add as a sort of the indices and a segmented sum: row r of the result gets the updates whose index
// is r, in the order of their positions, so the sum is the same on every run. Rows without updates are not
// touched.
#include <fmt/format.h>

#include "codegen/lowering/program_builder.h"
#include "ir/analysis/view.h"
#include "runtime/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

/// Whether the index dims of the updates can be walked as one, with the stride of the last.
bool lies_evenly(const Shape& shape, const std::vector<Dim>& strides, int64_t axis, int64_t count) {
  for (int64_t i = axis; i + 1 < axis + count; ++i)
    if (strides[i] != strides[i + 1] * shape[i + 1]) return false;
  return true;
}

/// The value's layout, or that of a dense copy made here.
Layout dense_copy(ProgramBuilder& builder, const Value& value, const std::string& source) {
  const int buffer = builder.add_buffer(source, Role::temporary, value.dtype(), element_count(value.shape()));
  const Layout layout{buffer, 0, dense_strides(value.shape())};
  builder.copy(*value.layout, layout, value.shape(), value);
  return layout;
}

/// out[r, ...] += sum over i in [begins[r], begins[r+1]) of updates[permutation[i], ...], r along the
/// scattered axis.
Kernel segmented_sum(const Node& scatter, const Layout& source) {
  const Value& result = *scatter.result();
  const int64_t count = scatter.operand(1)->rank(), rank = result.rank(), axis = scatter.int_attr("axis");
  const DType dtype = result.dtype(), update = scatter.operand(2)->dtype();
  const Dim updates = element_count(scatter.operand(1)->shape());
  Kernel kernel;
  kernel.name = "segmented_sum";
  kernel.params = {
      {.name = "updates", .dtype = update, .table_elements = reach(source, scatter.operand(2)->shape())},
      {.name = "permutation", .dtype = DType::i32, .indices = IndexBounds{0, updates}},
      {.name = "begins", .dtype = DType::i32, .indices = IndexBounds{0, updates + 1}},
      {.name = "y", .dtype = dtype, .output = true, .input = true}};
  std::vector<int64_t> others;  // the dims beside the scattered one; the last is the column
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) others.push_back(i);
  kernel.axes.push_back({AxisKind::parallel, "r0", result.shape()[axis]});
  for (size_t i = 0; i + 1 < others.size(); ++i)
    kernel.axes.push_back({AxisKind::parallel, fmt::format("r{}", i + 1), result.shape()[others[i]]});
  const auto reduced = static_cast<int>(kernel.axes.size());
  kernel.axes.push_back({AxisKind::reduced, "i", updates});
  kernel.axes.push_back({AxisKind::column, "c0", others.empty() ? Dim(1) : result.shape()[others.back()]});
  const auto access = [&](int param) {
    return Access{.param = param, .strides = std::vector<Dim>(kernel.axes.size(), Dim(0))};
  };
  Access begin = access(2), end = access(2), permutation = access(1), from = access(0), to = access(3);
  begin.strides[0] = end.strides[0] = 1, end.offset = 1;
  permutation.strides[reduced] = 1;
  from.computed = 3, from.computed_stride = count ? source.strides[axis + count - 1] : Dim(0);
  to.strides[0] = result.layout->strides[axis];
  for (size_t i = 0; i < others.size(); ++i) {
    const size_t place = i + 1 == others.size() ? kernel.axes.size() - 1 : i + 1;
    to.strides[place] = result.layout->strides[others[i]];
    from.strides[place] = source.strides[others[i] < axis ? others[i] : others[i] + count - 1];
  }
  const DType sum = is_float(dtype) ? DType::f32 : dtype;
  kernel.instructions = {
      {.kind = Kind::load, .dtype = DType::i32, .access = begin},
      {.kind = Kind::load, .dtype = DType::i32, .access = end},
      {.kind = Kind::scalar, .dtype = DType::boolean, .operands = {0, 1}, .scalar_op = ScalarOp::lt},
      {.kind = Kind::load, .dtype = DType::i32, .access = permutation},
      {.kind = Kind::load, .dtype = update, .access = from},
      {.kind = Kind::reduce, .dtype = sum, .operands = {4}, .reduce_op = ReduceOp::add},
      {.kind = Kind::load, .dtype = dtype, .access = to},
      {.kind = Kind::scalar, .dtype = sum, .operands = {6, 5}, .scalar_op = ScalarOp::add},
      {.kind = Kind::store, .dtype = dtype, .operands = {7}, .access = to},
  };
  kernel.axes[reduced].begin = 0, kernel.axes[reduced].end = 1;
  kernel.row_predicate = 2;
  kernel.blocks = {{Scope::row, {0, 1, 2}}, {Scope::reduced, {3, 4, 5}}, {Scope::column, {6, 7, 8}}};
  return kernel;
}

}  // namespace

void lower_scatter_add(ProgramBuilder& builder, const Node& scatter) {
  const Value &init = *scatter.operand(0), &indices = *scatter.operand(1), &result = *scatter.result();
  if (*init.layout != *result.layout) builder.copy(*init.layout, *result.layout, result.shape(), init);
  const Value& updates = *scatter.operand(2);
  const int64_t axis = scatter.int_attr("axis");
  const Layout index = is_dense(indices.shape(), indices.layout->strides)
                           ? *indices.layout
                           : dense_copy(builder, indices, scatter.source);
  const Layout from = lies_evenly(updates.shape(), updates.layout->strides, axis, indices.rank())
                          ? *updates.layout
                          : dense_copy(builder, updates, scatter.source);
  const Dim count = element_count(indices.shape()), rows = result.shape()[axis];
  const int permutation = builder.add_buffer(scatter.source + " (order)", Role::workspace, DType::i32, count);
  const int begins =
      builder.add_buffer(scatter.source + " (segments)", Role::workspace, DType::i32, rows + 1);
  builder.add_step(SortIndexStep{{index.buffer, index.offset}, {permutation, 0}, {begins, 0}, count, rows},
                   {index.buffer}, {permutation, begins});
  const Layout& out = *result.layout;
  const std::vector<BufferRef> arguments = {
      {from.buffer, from.offset}, {permutation, 0}, {begins, 0}, {out.buffer, out.offset}};
  KernelStep step{.kernel = builder.add_kernel(segmented_sum(scatter, from), arguments),
                  .arguments = arguments,
                  .random_ids = {}};
  builder.add_step(std::move(step), {from.buffer, permutation, begins, out.buffer}, {out.buffer});
}

}  // namespace smelt
