// Several launches as one step of a program.
#pragma once

#include <string_view>

#include "ir/program.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Whether a step reads or writes the buffer.
bool touches(const Step& step, int buffer);

/// A step that runs `kernel` on the arguments of all parts, one after the other, and stands for them.
Step join_steps(int kernel, llvm::ArrayRef<Step> parts);
/// The number of an equal kernel that is already there, else of this one, whose name then ends with `suffix`
/// and, where another has that name, a number.
int add_kernel(Program& program, Kernel kernel, std::string_view suffix);
/// Kernels that no step runs go.
void drop_unused_kernels(Program& program);

}  // namespace smelt
