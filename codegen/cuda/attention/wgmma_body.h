// Legality of score_mods ("bodies") of attention for the templates for sm_90a, and the first part of the text
// of these templates.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_hooks.h"
#include "codegen/cuda/attention/attention_wgmma.h"
#include "codegen/cuda/wgmma_text.h"
#include "ir/kernel/kernel.h"

namespace smelt {

// ---- wgmma_body.cpp
// Legality of the bodies of attention for the templates for sm_90a.

/// Returns the number of the instruction that is the factor of the weight, in the body of the forward kernel
/// or of a gradient; -1 if there is no factor. Returns nothing if a gradient's body computes neither the
/// weight nor the product of the weight and a factor.
std::optional<int> weight_factor(const Kernel& kernel);

/// Returns the draws that keep a weight, and the factor of such a weight. Returns nothing if there is no
/// factor, or if it may be a number other than 0 and this factor.
std::optional<KeptDraws> kept_draws(const Kernel& kernel);

/// Returns whether the templates support the body. The draws must only keep or drop weights: the factor is 0
/// or one positive number. In a gradient's body, the gradient of a score must be weight * (product * factor -
/// delta). If the body modifies scores, it may be multiplied by a value that depends on none of these.
bool wgmma_takes_body(const Kernel& kernel);

// ---- pieces_wgmma.cpp
// The first part of the text of attention kernels for sm_90a (codegen/cuda/device/attention/wgmma/).

/// Returns whether the head size and the body meet the requirements that the forward and the backward kernels
/// have in common.
bool wgmma_takes(int head_size, const AttentionHooks& hooks);

/// Returns the text of a kernel up to and including tiles.cuh. `constants`: text that defines the constants
/// of the kernel.
std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants);

}  // namespace smelt
