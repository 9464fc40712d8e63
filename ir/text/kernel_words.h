// Keywords of the Kernel IR's text form, in the order of their enums.
#pragma once

#include <string_view>

namespace smelt {

constexpr std::string_view kAxisWords[] = {"parallel", "column", "reduced"};
constexpr std::string_view kScopeWords[] = {"row", "column", "reduced"};
constexpr std::string_view kFormWords[] = {"plain", "fast",  "fast_tangent", "inverse",   "scaled_inverse",
                                           "kept",  "early", "prefetched",   "sequential"};

}  // namespace smelt
