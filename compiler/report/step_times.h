// The measurements of an entry's steps by `smelt bench --profile --trace FILE`.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/program/program.h"

namespace smelt {

/// Seconds of one run by entry and number of the step.
using StepTimes = std::map<std::pair<std::string, int>, double>;

/// Reads trace events (`text` of `file`). Throws Error where they are no profile of this program's steps,
/// naming the first that differs.
StepTimes read_step_times(const Program& program, const std::string& text, const std::string& file);

}  // namespace smelt
