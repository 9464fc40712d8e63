// Parameters by patterns of their names.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns for each parameter of the module whether its whole name fits one of the glob patterns, such as
/// "*.bias". Throws Error for a text that is no pattern, and, unless `may_be_unused`, with all patterns that
/// no name fits.
std::vector<bool> parameters_that_fit(const Module& module, const std::vector<std::string>& patterns,
                                      bool may_be_unused = false);

}  // namespace smelt
