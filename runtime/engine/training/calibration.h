// First bounds of activations, which quantisation-aware training then learns.
#pragma once

#include <span>

#include "runtime/session/session.h"

namespace smelt {

/// Sets each bound that still has its initial value to the largest magnitude of its activation in a batch, by
/// the plan's entry "calibrate" (runtime/plan/activation_bound.h). A magnitude of 0, or one that is not
/// finite, changes nothing. Does nothing if the plan lacks the entry. Returns the number of bounds it set.
int64_t calibrate_bounds(Session& session, std::span<const InputTensor> inputs);

/// Returns whether the plan has bounds that can be calibrated.
bool calibrates(const Session& session);

}  // namespace smelt
