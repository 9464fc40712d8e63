// What the stages of a pipeline, which have a plan each, must have in common of how these were made.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"

namespace smelt::cli {

/// Names of flags and what they were given; of other plans the target and the mesh alone. `compiled`: null
/// where the plan came as a file.
std::vector<std::pair<std::string, std::string>> stage_flags(const Plan& plan,
                                                             const CompileOptions* compiled);

}  // namespace smelt::cli
