// Parameters by patterns of their names.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns for each parameter of the module whether its whole name fits one of the glob patterns, such as
/// "*.bias". Throws Error with all patterns that no name fits, and for a text that is no pattern.
std::vector<bool> parameters_that_fit(const Module& module, const std::vector<std::string>& patterns);

}  // namespace smelt
