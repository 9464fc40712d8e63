#include "runtime/cpu/collective.h"

#include <cstring>

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

}  // namespace smelt
