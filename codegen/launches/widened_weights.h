// Weights that lie in memory as bytes, and the step in front of a matmul that makes floats of them
// (passes/precision/quantize_weights.h).
#pragma once

#include <optional>

#include "ir/program.h"

namespace smelt {

/// Where the bytes lie of the floats that begin at `floats`, if all that the step does is to widen signed
/// bytes to them, each in its place.
std::optional<BufferRef> widened_bytes(const Program& program, const Step& step, const BufferRef& floats);

}  // namespace smelt
