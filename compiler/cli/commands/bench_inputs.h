// Random inputs of an entry, of the largest sizes that the plan's bounds allow.
#pragma once

#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/plan/plan.h"

namespace smelt::cli {

SymbolValues largest_sizes(const Symbols& symbols);

/// Returns values for all inputs that are not optional: token ids within the vocabulary, ones for other
/// integers (masks), a normal distribution for floats.
std::vector<HostTensor> random_inputs(const PlanEntry& entry, const Symbols& symbols);

}  // namespace smelt::cli
