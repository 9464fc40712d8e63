// Which bodies of attention the templates for sm_90a take.
#pragma once

#include <optional>

#include "ir/kernel.h"

namespace smelt {

/// The instruction that is the factor of the weight, also in a gradient's body; -1: there is none. Nothing
/// where that body's weight is not a product with one.
std::optional<int> weight_factor(const Kernel& kernel);

/// What the factor is where a draw keeps a weight; nothing where it may be another number than this and 0.
std::optional<double> kept_factor(const Kernel& kernel);

/// Whether draws keep or drop weights and do nothing else: the factor is 0, or one positive number; and
/// whether the derivative of a score that nothing modifies is weight * (product * factor - delta).
bool wgmma_takes_body(const Kernel& kernel);

}  // namespace smelt
