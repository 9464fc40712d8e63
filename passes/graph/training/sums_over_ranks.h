// Sums of gradients over ranks, and their addition to the sums of earlier batches.
#pragma once

#include "ir/graph/builder.h"
#include "runtime/plan/plan.h"

namespace smelt {

// ---- sums_over_ranks.cpp
// Sums over the elements of all ranks. A flat state (flatten_parameters.h) has one segment per parameter.
// Some segments may be sharded over ranks, while every rank has the other segments whole. Elements of whole
// segments are counted once, not once per rank. Each stage of a pipeline has its own list of segments. A
// segment that several stages have is counted on the first of these stages.

/// Returns the sum of all elements over all ranks, as a scalar that is equal on all ranks. `elements` has the
/// shape and the sharding of the flat state.
Value* sum_over_ranks(GraphBuilder& b, const State& flat, Value* elements);
/// Returns the sum of `value` over the stages of a pipeline; the value itself if the module is not a pipeline
/// stage.
Value* sum_over_stages(GraphBuilder& b, Value* value);
/// Returns the sums of each segment over all ranks, given each rank's sums [segments]. Does not sum over the
/// stages of a pipeline, because each stage has its own list of segments.
Value* segment_sums_over_ranks(GraphBuilder& b, const State& flat, Value* by_segment);

// ---- add_gradients.cpp
// Addition of the gradients of a batch to a flat state of sums. Each gradient is added separately, so that
// the addition can be fused with the matmul that computes the gradient.

/// Emits the update of the state `sums`. `gradients` has one gradient per segment, in the order of the
/// segments. If the gradients of adjacent segments are consecutive slices of one value, that value is added
/// instead of the slices.
void add_gradients(GraphBuilder& b, const State& sums, llvm::ArrayRef<Value*> gradients);

}  // namespace smelt
