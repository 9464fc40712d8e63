// A fusion as a kernel: one block a level of the iteration space, every block computing from memory, row
// scalars and cached columns what it needs; sums over the rows become partial sums and a finishing kernel.
//
//   fusion_kernel.h   axes and parameters
//   fusion_blocks.h   blocks, reductions and stores
//   fusion_values.h   what a block computes
//   fusion_aliases    which outputs may overwrite an input
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/lowering/fusion_blocks.h"
#include "codegen/lowering/fusion_kernel.h"
#include "codegen/lowering/lower.h"
#include "codegen/scheduling/schedule.h"
#include "ir/graph/insertion.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Keeps expensive columns in a scratch row. This comes before the step, because memory that is not read
/// again may be overwritten in place. (A GPU's schedule decides what stays in registers.)
void keep_expensive_columns(FusionKernel& fusion, const Symbols& symbols) {
  constexpr int64_t kLongestRow = 16384;
  const bool rows =
      fusion.space().count(AxisKind::column) == 1 && fusion.space().count(AxisKind::reduced) == 0;
  if (rows && symbols.upper(fusion.kernel.axes.back().extent) <= kLongestRow)
    keep_columns(fusion.kernel, {.expensive_only = true, .forward_stores = false});
}

/// Makes a kernel that only sums over all rows store its sums itself: a loop down tiles of columns needs no
/// partial sums.
bool sum_columns_at_once(FusionKernel& fusion) {
  if (llvm::any_of(fusion.space().reductions,
                   [](const auto& entry) { return entry.second != IterationSpace::Reduction::column; }))
    return false;
  std::vector<ColumnSum> sums;
  for (const FusionSum& sum : fusion.sums) {
    const Access place = fusion.access(sum.param, sum.result->layout->strides, fusion.axes_of(*sum.value));
    sums.push_back({sum.param, sum.result->dtype(), place.strides});
  }
  if (!sum_columns_in_tiles(fusion.kernel, sums)) return false;
  for (const FusionSum& sum : fusion.sums) {
    fusion.arguments[sum.param] = {sum.result->layout->buffer, sum.result->layout->offset};
    fusion.stores.push_back({sum.value, sum.result, sum.param});
  }
  return true;
}

/// Adds buffers for the partial sums; returns the sums to finish.
std::vector<PartialSum> add_partial_buffers(ProgramBuilder& builder, FusionKernel& fusion, int64_t splits) {
  const int64_t slices = partial_slices(splits, fusion.kernel.schedule.sum_rows);
  std::vector<PartialSum> sums;
  for (const FusionSum& sum : fusion.sums) {
    const Shape& columns = sum.value->shape();
    const int buffer = builder.add_buffer(fusion.fusion().source + " (partial sums)", Role::workspace,
                                          partial_type(*sum.value), element_count(columns) * slices);
    fusion.arguments[sum.param] = {buffer, 0};
    sums.push_back({buffer, columns, partial_type(*sum.value), *sum.result->layout, sum.result->dtype()});
  }
  return sums;
}

/// Copies the target of each insert to the memory of the result.
void copy_targets(ProgramBuilder& builder, const FusionKernel& fusion) {
  for (const FusionStore& store : fusion.stores) {
    if (!store.value->node()->is(Op::insert)) continue;
    const Value& target = fusion.outside(*inserted_into(*store.value->node())->node());
    builder.copy(*target.layout, *store.result->layout, target.shape(), target);
  }
}

void add_kernel_step(ProgramBuilder& builder, FusionKernel& fusion, const RandomDraws& draws) {
  std::vector<int> reads, writes;
  for (auto [param, argument] : llvm::zip(fusion.kernel.params, fusion.arguments))
    (param.output ? writes : reads).push_back(argument.buffer);
  for (const FusionStore& store : fusion.stores)  // what an insert leaves as it was is part of the result
    if (store.value->node()->is(Op::insert)) reads.push_back(store.result->layout->buffer);
  check_in_place(fusion);
  auto aliases = aliases_of(fusion);
  KernelStep step{.kernel = builder.add_kernel(std::move(fusion.kernel), fusion.arguments),
                  .arguments = fusion.arguments,
                  .random_ids = {}};
  draws.give_to(step);
  builder.add_step(std::move(step), std::move(reads), std::move(writes)).may_alias = std::move(aliases);
}

}  // namespace

void lower_fusion(ProgramBuilder& builder, const Node& node) {
  FusionKernel fusion(builder, node);
  copy_targets(builder, fusion);
  FusionBlocks blocks(fusion);
  blocks.emit();
  const bool launches = builder.target().can.launches;
  if (launches && sum_columns_at_once(fusion)) return add_kernel_step(builder, fusion, blocks.draws());
  if (!launches) keep_expensive_columns(fusion, builder.symbols());
  if (!launches && !fusion.sums.empty())
    fusion.kernel.schedule.sum_rows = partial_sum_rows(fusion.kernel, builder.symbols());
  const int64_t splits = partial_splits(builder.target());
  const std::vector<PartialSum> sums = add_partial_buffers(builder, fusion, splits);
  add_kernel_step(builder, fusion, blocks.draws());
  finish_partial_sums(builder, sums, splits);
}

}  // namespace smelt
