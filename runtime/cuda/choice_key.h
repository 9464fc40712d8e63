// Keys of choices: the properties that decide which alternative is the fastest on a device.
#pragma once

#include <string>

#include "runtime/plan/choices.h"

namespace smelt::cuda {

/// Returns a key of the names of the alternatives, the sizes of their steps, rounded up to a quarter of a
/// power of two, and a checksum of the steps and of their kernels' code. Equal layers have one key.
std::string choice_key(const Plan& plan, const PlanEntry& entry, const StepSpan& choice,
                       const SymbolValues& values);

}  // namespace smelt::cuda
