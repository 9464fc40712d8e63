// Verifier of programs and kernels, for use between passes. It checks that every index of a buffer, a state,
// a kernel, a choice between variants of steps, a parameter or an instruction is in range, and that
// instructions are defined before they are used. Checks that need sizes, memory and machine code run on the
// finished plan (runtime/plan/plan_validate.h).
#pragma once

#include <string>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// Returns one message per fault, with the place of the fault, such as its entry and step or its kernel and
/// instruction. The list is empty if the program or kernel is valid.
std::vector<std::string> verify(const Program& program);
std::vector<std::string> verify(const Kernel& kernel);

}  // namespace smelt
