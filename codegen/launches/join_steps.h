// Several launches as one step of a program.
#pragma once

#include <string_view>

#include "ir/program/program.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Returns whether a step reads or writes the buffer.
bool touches(const Step& step, int buffer);

/// Returns a step that replaces all parts: it runs `kernel` on the arguments of each, one after the other.
Step join_steps(int kernel, llvm::ArrayRef<Step> parts);
/// Returns the number of an equal kernel that is already there. Otherwise adds this one, whose name then ends
/// with `suffix` and, where another has that name, a number.
int add_kernel(Program& program, Kernel kernel, std::string_view suffix);
/// Removes kernels that no step runs.
void drop_unused_kernels(Program& program);

}  // namespace smelt
