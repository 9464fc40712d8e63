// A collective step with its sizes evaluated.
#pragma once

#include <cstddef>

#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt {

struct CollectiveSizes {
  CollectiveKind kind = CollectiveKind::all_reduce;
  size_t axis = 0;           // of the mesh
  int64_t ranks = 1;         // along it
  int64_t from = 0, to = 0;  // bytes of a row
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;
  int64_t rows = 1, from_stride = 0, to_stride = 0;  // bytes
};

/// `from` and `to` may be one place in all_reduce. `ranks` may be null if there is one rank along the axis.
void run_collective(const CollectiveSizes& sizes, const std::byte* from, std::byte* to, RankGroups* ranks);

}  // namespace smelt
