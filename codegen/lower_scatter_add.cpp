// scatter_add as a sort of the indices and a segmented sum: row r of the result gets the updates whose index
// is r, in the order of their positions, so the sum is the same on every run. Rows without updates are not
// touched.
#include <fmt/format.h>

#include "codegen/program_builder.h"
#include "ir/view.h"
#include "runtime/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

/// Index dims of the updates walked as one: the stride from one position to the next.
Dim position_stride(const Node& scatter, int64_t count) {
  const Value& updates = *scatter.operand(2);
  const auto& strides = updates.layout->strides;
  for (int64_t i = 0; i + 1 < count; ++i)
    if (strides[i] != strides[i + 1] * updates.shape()[i + 1])
      fail("{}: the updates {} do not lie evenly in memory", scatter.describe(), str(updates.type));
  return count == 0 ? Dim(0) : strides[count - 1];
}

/// out[r, ...] += sum over i in [begins[r], begins[r+1]) of updates[permutation[i], ...].
Kernel segmented_sum(const Node& scatter) {
  const Value &updates = *scatter.operand(2), &result = *scatter.result();
  const int64_t count = scatter.operand(1)->rank(), rank = result.rank();
  const DType dtype = result.dtype();
  Kernel kernel;
  kernel.name = "segmented_sum";
  kernel.params = {{.name = "updates", .dtype = dtype},
                   {.name = "permutation", .dtype = DType::i32},
                   {.name = "begins", .dtype = DType::i32},
                   {.name = "y", .dtype = dtype, .output = true, .input = true}};
  for (int64_t i = 0; i + 1 < rank; ++i)
    kernel.axes.push_back({AxisKind::parallel, fmt::format("r{}", i), result.shape()[i]});
  const auto reduced = static_cast<int>(kernel.axes.size());
  kernel.axes.push_back({AxisKind::reduced, "i", element_count(scatter.operand(1)->shape())});
  kernel.axes.push_back({AxisKind::column, "c0", result.shape().back()});
  const auto access = [&](int param) {
    return Access{.param = param, .strides = std::vector<Dim>(kernel.axes.size(), Dim(0))};
  };
  Access begin = access(2), end = access(2), permutation = access(1), from = access(0), to = access(3);
  begin.strides[0] = end.strides[0] = 1, end.offset = 1;
  permutation.strides[reduced] = 1;
  from.computed = 3, from.computed_stride = position_stride(scatter, count);
  for (int64_t i = 0; i < rank; ++i) {
    const size_t axis = i + 1 == rank ? kernel.axes.size() - 1 : static_cast<size_t>(i);
    to.strides[axis] = result.layout->strides[i];
    if (i > 0) from.strides[axis] = updates.layout->strides[count + i - 1];
  }
  kernel.instructions = {
      {.kind = Kind::load, .dtype = DType::i32, .access = begin},
      {.kind = Kind::load, .dtype = DType::i32, .access = end},
      {.kind = Kind::scalar, .dtype = DType::boolean, .operands = {0, 1}, .scalar_op = ScalarOp::lt},
      {.kind = Kind::load, .dtype = DType::i32, .access = permutation},
      {.kind = Kind::load, .dtype = dtype, .access = from},
      {.kind = Kind::reduce, .dtype = dtype, .operands = {4}, .reduce_op = ReduceOp::add},
      {.kind = Kind::load, .dtype = dtype, .access = to},
      {.kind = Kind::scalar, .dtype = dtype, .operands = {6, 5}, .scalar_op = ScalarOp::add},
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
  if (scatter.int_attr("axis") != 0 || result.rank() < 2)
    fail("{}: sums are scattered along axis 0 of tensors of rank 2 or more; transpose first",
         scatter.describe());
  if (*init.layout != *result.layout)
    builder.copy(*init.layout, *result.layout, result.shape(), result.dtype());
  if (!is_dense(indices.shape(), indices.layout->strides))
    fail("{}: the indices {} must be dense", scatter.describe(), str(indices.type));
  const Dim count = element_count(indices.shape()), rows = result.shape()[0];
  const int permutation = builder.add_buffer(scatter.source + " (order)", Role::workspace, DType::i32, count);
  const int begins =
      builder.add_buffer(scatter.source + " (segments)", Role::workspace, DType::i32, rows + 1);
  builder.add_step(
      SortIndexStep{
          {indices.layout->buffer, indices.layout->offset}, {permutation, 0}, {begins, 0}, count, rows},
      {indices.layout->buffer}, {permutation, begins});
  const Layout &updates = *scatter.operand(2)->layout, &out = *result.layout;
  KernelStep step{.kernel = builder.add_kernel(segmented_sum(scatter)),
                  .arguments = {{updates.buffer, updates.offset},
                                {permutation, 0},
                                {begins, 0},
                                {out.buffer, out.offset}},
                  .random_ids = {}};
  builder.add_step(std::move(step), {updates.buffer, permutation, begins, out.buffer}, {out.buffer});
}

}  // namespace smelt
