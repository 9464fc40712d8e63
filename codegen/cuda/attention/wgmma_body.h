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
// The functions examine the instructions of the body. The weight of a key is exp(score - log-sum-exp).

/// Returns the number of the instruction that computes the factor of the weight (dropout, for example); -1 if
/// there is no factor. The body of the forward kernel returns the factor itself. The body of a gradient must
/// return the weight or weight * factor. If it returns another expression, this function returns nothing.
std::optional<int> weight_factor(const Kernel& kernel);

/// Returns the random draws for which the factor is not 0, and the factor. Returns nothing if there is no
/// factor, or if the factor is not always either 0 or one positive constant.
std::optional<KeptDraws> kept_draws(const Kernel& kernel);

/// Returns whether the templates support the body. The factor, if there is one, must always be 0 or one
/// positive constant, and no other value may depend on random draws. In the body of a gradient, the gradient
/// of a score must be g = weight * (product * factor - delta). Here `product` is the dot product of the value
/// vector and the gradient of the output, and `delta` is the dot product of the output and its gradient. If
/// the body modifies scores, the gradient may also be g times the derivative of the modified score. This
/// derivative must not depend on draws, weight, product or delta.
bool wgmma_takes_body(const Kernel& kernel);

// ---- pieces_wgmma.cpp
// The first part of the text of attention kernels for sm_90a (codegen/cuda/device/attention/wgmma/).

/// Returns whether the head size and the constants of the body meet the requirements that the forward and the
/// backward kernels have in common. Unlike wgmma_takes_body, it does not examine the body's instructions.
bool wgmma_takes(int head_size, const AttentionHooks& hooks);

/// Returns the text of a kernel up to and including the file tiles.cuh. `constants`: text that defines the
/// constants of the kernel.
std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants);

}  // namespace smelt
