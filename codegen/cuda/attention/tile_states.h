// Which tiles of scores a mask leaves out: the mask of a kernel of attention, and its value over a rectangle
// of queries and keys by interval arithmetic.
#pragma once

#include <string>

#include "ir/kernel.h"

namespace smelt {

/// Where a modified score is select(mask, score, -inf).
struct ScoreMask {
  int instruction = -1;  // of the mask; -1: there is none
  int seen_score = -1;   // what it chooses where a key is seen
};
ScoreMask score_mask(const Kernel& kernel);

/// The function body_tile of attention_hooks.h. `by_lane`: lanes ask for different tiles, or not at all.
std::string tile_function(const Kernel& kernel, const ScoreMask& mask, bool by_lane);

/// Declares those names of parameters and sizes that `text` uses, from `body`.
std::string unpacked_names(const Kernel& kernel, const std::string& text);

}  // namespace smelt
