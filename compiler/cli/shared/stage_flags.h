// The flags that the plans of a pipeline, one per stage, must have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt::cli {

/// Names of flags and what they were given; of other plans the target and the mesh alone. `compiled`: null
/// where the plan came as a file.
std::vector<std::pair<std::string, std::string>> stage_flags(const Plan& plan,
                                                             const CompileOptions* compiled);

}  // namespace smelt::cli
