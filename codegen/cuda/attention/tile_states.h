// The function of an attention kernel that finds the tiles of scores that its mask excludes.
#pragma once

#include <string>

#include "codegen/cuda/attention/attention_hooks.h"
#include "codegen/kernel_passes/mask_intervals.h"

namespace smelt {

/// The function body_tile of attention_hooks.h, and for sm_90a those that look numbers up for it.
std::string tile_function(const Kernel& kernel, const ScoreMask& mask, HookUse use);

/// Declares those names of parameters and sizes that `text` uses, from `body`.
std::string unpacked_names(const Kernel& kernel, const std::string& text);

}  // namespace smelt
