// Merges neighbouring axes that every access traverses like one axis: this leaves fewer indices, and fewer
// divisions.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Joins neighbouring axes of one kind (parallel, or reduced without segments) where each access's outer
/// stride is the inner stride times the inner extent, and no instruction uses an index along either.
void collapse_axes(Kernel& kernel);

}  // namespace smelt
