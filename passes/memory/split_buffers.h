// split_buffers: what a flat state's buckets are gathered into, and what they are summed from, becomes a
// buffer for each stretch that no step reaches across, such as a layer's parameters and its gradients. Each
// is then placed by itself, for as long as it is used; parts of one buffer keep their distances. Where layers
// begin at buckets' borders (passes/training/bucket_layout.h) no stretch is longer than a layer.
#pragma once

#include "ir/program.h"

namespace smelt {

/// Before order_steps. Steps touch the elements that they touched; what none touches has no memory any more.
/// Nothing changes without a mesh.
bool split_buffers(Program& program);

}  // namespace smelt
