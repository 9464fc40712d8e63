// Bodies of attention that the templates for sm_90a take, and the begin of their text.
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

/// The instruction that is the factor of the weight, also in a gradient's body; -1: there is none. Nothing
/// where that body's weight is not a product with one.
std::optional<int> weight_factor(const Kernel& kernel);

/// Returns the draws that keep a weight, and its factor then; nothing where the factor may be another number
/// than this and 0.
std::optional<KeptDraws> kept_draws(const Kernel& kernel);

/// Returns whether draws only keep or drop weights (the factor is 0, or one positive number), and whether the
/// gradient of a score is weight * (product * factor - delta), times a value that depends on none of these if
/// the score is modified.
bool wgmma_takes_body(const Kernel& kernel);

// ---- pieces_wgmma.cpp
// The begin of the text of attention kernels for sm_90a (codegen/cuda/device/attention/wgmma/).

/// Returns whether kernels of both directions take the head size and the body.
bool wgmma_takes(int head_size, const AttentionHooks& hooks);

/// Returns the text up to tiles.cuh, with `constants` of the kernel.
std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants);

}  // namespace smelt
