// Which bodies of attention the templates for sm_90a take.
#pragma once

#include <optional>

#include "codegen/cuda/attention/attention_hooks.h"
#include "ir/kernel.h"

namespace smelt {

/// The instruction that is the factor of the weight, also in a gradient's body; -1: there is none. Nothing
/// where that body's weight is not a product with one.
std::optional<int> weight_factor(const Kernel& kernel);

/// Which draws keep a weight, and its factor then; nothing where the factor may be another number than this
/// and 0.
std::optional<KeptDraws> kept_draws(const Kernel& kernel);

/// Whether draws keep or drop weights and do nothing else: the factor is 0, or one positive number; and
/// whether the gradient of a score is weight * (product * factor - delta) times what depends on none of
/// these, or, where nothing modifies the score, that alone.
bool wgmma_takes_body(const Kernel& kernel);

}  // namespace smelt
