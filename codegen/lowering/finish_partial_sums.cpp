#include "codegen/lowering/lower.h"

#include <fmt/format.h>

#include "ir/analysis/view.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {
namespace {

using Scope = KernelBlock::Scope;
using Kind = Instruction::Kind;
using Group = llvm::SmallVector<const PartialSum*, 3>;

std::vector<Group> group_by_columns(llvm::ArrayRef<PartialSum> sums) {
  std::vector<Group> groups;
  for (const PartialSum& sum : sums) {
    const auto fits = [&](const Group& group) { return group.front()->columns == sum.columns; };
    auto group = llvm::find_if(groups, fits);
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(&sum);
  }
  return groups;
}

/// Returns the kernel without its sums: rows of columns, the splits reduced, then the results stored.
Kernel empty_kernel(const Shape& columns, const Dim& splits) {
  Kernel kernel;
  kernel.name = "finish";
  for (size_t i = 0; i + 1 < columns.size(); ++i)
    kernel.axes.push_back({AxisKind::parallel, fmt::format("r{}", i), columns[i]});
  kernel.axes.push_back({AxisKind::reduced, "split", splits});
  kernel.axes.push_back({AxisKind::column, "c0", columns.empty() ? Dim(1) : columns.back()});
  kernel.blocks = {{Scope::reduced, {}}, {Scope::column, {}}};
  return kernel;
}

int append(Kernel& kernel, int block, Instruction instruction) {
  const auto number = static_cast<int>(kernel.instructions.size());
  kernel.instructions.push_back(std::move(instruction));
  kernel.blocks[block].instructions.push_back(number);
  return number;
}

/// An element of a parameter by the strides of the columns.
Access access_of(const Kernel& kernel, int param, llvm::ArrayRef<Dim> strides) {
  Access access{.param = param, .strides = std::vector<Dim>(kernel.axes.size(), Dim(0))};
  for (size_t i = 0; i < strides.size(); ++i)
    access.strides[i + 1 == strides.size() ? kernel.axes.size() - 1 : i] = strides[i];
  return access;
}

void add_sum(Kernel& kernel, const PartialSum& sum) {
  const auto param = static_cast<int>(kernel.params.size());
  kernel.params.push_back({.name = fmt::format("p{}", param / 2), .dtype = sum.dtype});
  kernel.params.push_back(
      {.name = fmt::format("y{}", param / 2), .dtype = sum.stored, .output = true, .input = false});
  Access from = access_of(kernel, param, dense_strides(sum.columns));
  from.strides[kernel.axes.size() - 2] = element_count(sum.columns);
  const int element = append(kernel, 0, {.kind = Kind::load, .dtype = sum.dtype, .access = std::move(from)});
  int total =
      append(kernel, 0,
             {.kind = Kind::reduce, .dtype = sum.dtype, .operands = {element}, .reduce_op = ReduceOp::add});
  if (sum.stored != sum.dtype)
    total = append(kernel, 1, {.kind = Kind::convert, .dtype = sum.stored, .operands = {total}});
  append(kernel, 1,
         {.kind = Kind::store,
          .dtype = sum.stored,
          .operands = {total},
          .access = access_of(kernel, param + 1, sum.result.strides)});
}

}  // namespace

void finish_partial_sums(ProgramBuilder& builder, llvm::ArrayRef<PartialSum> sums, const Dim& splits) {
  for (const Group& group : group_by_columns(sums)) {
    Kernel kernel = empty_kernel(group.front()->columns, splits);
    KernelStep step;
    std::vector<int> reads, writes;
    for (const PartialSum* sum : group) {
      add_sum(kernel, *sum);
      step.arguments.push_back({sum->buffer, 0});
      step.arguments.push_back({sum->result.buffer, sum->result.offset});
      reads.push_back(sum->buffer), writes.push_back(sum->result.buffer);
    }
    step.kernel = builder.add_kernel(std::move(kernel), step.arguments);
    builder.add_step(std::move(step), std::move(reads), std::move(writes));
  }
}

}  // namespace smelt
