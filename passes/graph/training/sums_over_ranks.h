// Sums of gradients, in an update and over ranks.
#pragma once

#include "ir/graph/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

// ---- sums_over_ranks.cpp
// Sums over the elements of all ranks. A flat state that is sharded for some parameters also has whole ones,
// which every rank holds and which count once. Stages of a pipeline have their own segments; a segment that
// several stages hold counts on the first one.

/// Returns the sum of all elements of `elements`, which has the sharding of the flat state, as a scalar that
/// is equal on all ranks.
Value* sum_over_ranks(GraphBuilder& b, const State& flat, Value* elements);
/// Returns the sum of `value` over the stages of a pipeline; the value itself if the module is not a stage.
Value* sum_over_stages(GraphBuilder& b, Value* value);
/// Returns the sums by segment over all ranks, given each rank's sums [segments]. A stage has its own
/// segments.
Value* segment_sums_over_ranks(GraphBuilder& b, const State& flat, Value* by_segment);

// ---- add_gradients.cpp
// Adds the gradients of a batch to a flat state of sums part by part, so that the step that computes a
// gradient can accumulate it itself.

/// Adds `gradients`, which are in the order of the state's segments. Gradients that are slices of one value,
/// of segments without a gap between them, are added as that value.
void add_gradients(GraphBuilder& b, const State& sums, llvm::ArrayRef<Value*> gradients);

}  // namespace smelt
