// Steps of a program that passes over launches join or look through.
#pragma once

#include <optional>
#include <string_view>

#include "ir/program/program.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

// ---- join_steps.cpp
// Several launches as one step of a program.

/// Returns whether a step reads or writes the buffer.
bool touches(const Step& step, int buffer);

/// Returns a step that replaces all parts: it runs `kernel` on the arguments of each, one after the other.
Step join_steps(int kernel, llvm::ArrayRef<Step> parts);
/// Returns the number of an equal kernel that is already there. Otherwise adds this one, whose name then ends
/// with `suffix` and, where another has that name, a number.
int add_kernel(Program& program, Kernel kernel, std::string_view suffix);
/// Removes kernels that no step runs.
void drop_unused_kernels(Program& program);

// ---- widened_weights.cpp
// Weights that are stored as bytes, and the step before a matmul that converts them to floats
// (passes/graph/precision/quantize_weights.h).

/// Returns the location of the bytes of the floats that begin at `floats`, if the step only widens signed
/// bytes to these floats, each to its own position.
std::optional<BufferRef> widened_bytes(const Program& program, const Step& step, const BufferRef& floats);

}  // namespace smelt
