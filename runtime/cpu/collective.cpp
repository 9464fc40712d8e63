#include "runtime/cpu/library_steps.h"

#include <cstring>

#include "runtime/cpu/bind_step.h"

namespace smelt {
namespace {

void run_row(const CollectiveSizes& sizes, const std::byte* from, std::byte* to, RankGroups* ranks) {
  const std::span given(from, static_cast<size_t>(sizes.from));
  const std::span made(to, static_cast<size_t>(sizes.to));
  const bool alone = sizes.ranks == 1;
  if (alone || sizes.kind == CollectiveKind::all_reduce)
    if (from != to && !made.empty()) std::memcpy(to, from, made.size());
  if (alone) return;
  Communicator& group = ranks->along(sizes.axis);
  switch (sizes.kind) {
    case CollectiveKind::all_reduce:
      return group.all_reduce(made, sizes.dtype, sizes.sum);
    case CollectiveKind::reduce_scatter:
      return group.reduce_scatter(given, made, sizes.dtype, sizes.sum);
    case CollectiveKind::all_gather:
      return group.all_gather(given, made);
    case CollectiveKind::all_to_all:
      return group.all_to_all(given, made);
  }
}

}  // namespace

void run_collective(const CollectiveSizes& sizes, const std::byte* from, std::byte* to, RankGroups* ranks) {
  for (int64_t row = 0; row < sizes.rows; ++row)
    run_row(sizes, from + row * sizes.from_stride, to + row * sizes.to_stride, ranks);
}

Launch bind_step(const CollectiveStep& step, StepBinder& binder) {
  const int64_t size = size_of(step.dtype);
  return [from = binder.pointer<std::byte>(step.from), to = binder.pointer<std::byte>(step.to),
          sizes = CollectiveSizes{.kind = step.kind,
                                  .axis = *binder.plan().mesh.find(step.axis),
                                  .ranks = binder.value(step.ranks),
                                  .from = binder.value(step.from_elements()) * size,
                                  .to = binder.value(step.to_elements()) * size,
                                  .dtype = step.dtype,
                                  .sum = step.sum,
                                  .rows = binder.value(step.rows),
                                  .from_stride = binder.value(step.from_stride) * size,
                                  .to_stride = binder.value(step.to_stride) * size}](const StepRun& run) {
    run_collective(sizes, from, to, run.ranks);
  };
}

}  // namespace smelt
