// Measured times of steps, which `smelt bench --profile --trace FILE` has written.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/program/program.h"

namespace smelt {

/// Average seconds of one run of a step. The key is the name of the entry and the number of the step.
using StepTimes = std::map<std::pair<std::string, int>, double>;

/// Reads trace events from `text`, the content of `file`. Throws Error with the first step that differs if
/// the events are not a profile of this program.
StepTimes read_step_times(const Program& program, const std::string& text, const std::string& file);

}  // namespace smelt
