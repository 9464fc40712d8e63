// Sums over the elements of all ranks: a flat state that has parts of some parameters has whole ones, too,
// which every rank holds and which count once.
#pragma once

#include "ir/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// The sum of all elements of `elements`, which lies as the flat state does; a scalar, the same at all ranks.
Value* sum_over_ranks(GraphBuilder& b, const State& flat, Value* elements);
/// From each rank's sums by segment, [segments], those of the segments over all ranks.
Value* segment_sums_over_ranks(GraphBuilder& b, const State& flat, Value* by_segment);

}  // namespace smelt
