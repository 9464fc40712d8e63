// Adds the gradients of a batch to a flat state of sums part by part, so that the step which computes a
// gradient can add it itself.
#pragma once

#include "ir/builder.h"

namespace smelt {

/// `gradients` in the order of the state's segments. Gradients that are slices of one value, of segments
/// without a gap between them, are added as that value.
void add_gradients(GraphBuilder& b, const State& sums, llvm::ArrayRef<Value*> gradients);

}  // namespace smelt
