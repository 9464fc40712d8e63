// Sums over the elements of all ranks: a flat state that has parts of some parameters has whole ones, too,
// which every rank holds and which count once. Stages of a pipeline have segments of their own; of those that
// several hold the first one's counts.
#pragma once

#include "ir/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// The sum of all elements of `elements`, which lies as the flat state does; a scalar, the same at all ranks.
Value* sum_over_ranks(GraphBuilder& b, const State& flat, Value* elements);
/// The sum of what the stages of a pipeline have; the value itself where the module is none of them.
Value* sum_over_stages(GraphBuilder& b, Value* value);
/// From each rank's sums by segment, [segments], those of the segments over all ranks. A stage has its own.
Value* segment_sums_over_ranks(GraphBuilder& b, const State& flat, Value* by_segment);

}  // namespace smelt
