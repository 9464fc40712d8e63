// Weights that are stored as bytes, and the step before a matmul that converts them to floats
// (passes/graph/precision/quantize_weights.h).
#pragma once

#include <optional>

#include "ir/program/program.h"

namespace smelt {

/// Returns the location of the bytes of the floats that begin at `floats`, if the step only widens signed
/// bytes to these floats, each to its own position.
std::optional<BufferRef> widened_bytes(const Program& program, const Step& step, const BufferRef& floats);

}  // namespace smelt
