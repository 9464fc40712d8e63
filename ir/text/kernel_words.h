// Words of the Kernel IR's text form, in the order of their enums.
#pragma once

#include <string_view>

namespace smelt {

constexpr std::string_view kAxisWords[] = {"parallel", "column", "reduced"};
constexpr std::string_view kScopeWords[] = {"row", "column", "reduced"};

}  // namespace smelt
