// The function of a kernel of attention that says which tiles of scores its mask leaves out.
#pragma once

#include <string>

#include "codegen/kernel_passes/mask_intervals.h"

namespace smelt {

/// The function body_tile of attention_hooks.h. `by_lane`: lanes ask for different tiles, or not at all.
std::string tile_function(const Kernel& kernel, const ScoreMask& mask, bool by_lane);

/// Declares those names of parameters and sizes that `text` uses, from `body`.
std::string unpacked_names(const Kernel& kernel, const std::string& text);

}  // namespace smelt
