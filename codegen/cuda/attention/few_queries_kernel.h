// The text of attention of few queries, in the order in which it stands in a kernel.
#pragma once

#include <string_view>

namespace smelt::few {

extern const std::string_view kLayout, kKeys, kScoresOfStep, kSums, kBlock;

}  // namespace smelt::few
