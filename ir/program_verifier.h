// Verifier of a program or a kernel between passes: every number that refers to a buffer, kernel, choice,
// parameter or instruction must refer to an existing one, and values must be defined before they are used.
// Checks that need sizes, memory and machine code run on the finished plan (runtime/plan/plan_validate.h).
#pragma once

#include <string>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// Returns messages, each with its entry and step, or its kernel and instruction; empty if the program is
/// valid.
std::vector<std::string> verify(const Program& program);
std::vector<std::string> verify(const Kernel& kernel);

}  // namespace smelt
