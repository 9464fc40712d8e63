// Utilities of passes over launches: joining several launches to one step, and finding steps that only
// convert weights from bytes to floats.
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

/// Returns a step that replaces all steps in `parts`, which launch kernels. The new step launches the kernel
/// with the number `kernel`. Its arguments are those of the first part, then those of the second part, and so
/// on.
Step join_steps(int kernel, llvm::ArrayRef<Step> parts);
/// Returns the number of a kernel of the program that has the same code as `kernel`. If there is none, adds
/// `kernel` and returns its number. `suffix` is appended to the name of an added kernel, followed by a number
/// if the name is not unique.
int add_kernel(Program& program, Kernel kernel, std::string_view suffix);
/// Removes kernels that no step runs, and renumbers the others.
void drop_unused_kernels(Program& program);

// ---- widened_weights.cpp
// Detection of steps that convert weights, which are stored as bytes, to floats before a matmul
// (passes/graph/precision/quantize_weights.h).

/// Returns the address of the signed bytes that the step converts to the floats at `floats`, byte i to float
/// i. Returns nothing if the step does anything else.
std::optional<BufferRef> widened_bytes(const Program& program, const Step& step, const BufferRef& floats);

}  // namespace smelt
