// The parts of the text of decode attention, in the order in which a kernel contains them.
#pragma once

#include <string_view>

namespace smelt::few {

extern const std::string_view kLayout, kKeys, kScoresOfStep, kSums, kBlock;

}  // namespace smelt::few
