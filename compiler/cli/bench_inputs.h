// Random inputs of an entry, of the largest sizes that the plan's bounds allow.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/tensor.h"

namespace smelt::cli {

SymbolValues largest_sizes(const Symbols& symbols);

/// Of all inputs that are not optional: ids that the input takes, ones for other integers (masks), a normal
/// distribution for floats.
std::vector<HostTensor> random_inputs(const PlanEntry& entry, const Symbols& symbols);

}  // namespace smelt::cli
