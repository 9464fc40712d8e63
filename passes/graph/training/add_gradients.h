// Adds the gradients of a batch to a flat state of sums part by part, so that the step that computes a
// gradient can accumulate it itself.
#pragma once

#include "ir/graph/builder.h"

namespace smelt {

/// Adds `gradients`, which are in the order of the state's segments. Gradients that are slices of one value,
/// of segments without a gap between them, are added as that value.
void add_gradients(GraphBuilder& b, const State& sums, llvm::ArrayRef<Value*> gradients);

}  // namespace smelt
