// split_buffers: splits the buffers of gathered buckets and of summed gradients into stretches that no step
// spans, such as one layer's parameters or gradients.
//
//   b: f32[100], steps touch b[0:60], b[60:100]    =>    b0: f32[60], b1: f32[40]
//
// Each stretch is then placed separately, for as long as it is used; parts of one buffer keep their
// distances. If layers begin at bucket borders (passes/graph/training/bucket_layout.h), no stretch is longer
// than a layer.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Splits the buffers. Runs before order_steps; does nothing without a mesh. Ensures: steps touch the same
/// elements as before; elements that no step touches have no memory.
bool split_buffers(Program& program);

}  // namespace smelt
