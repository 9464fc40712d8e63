// Two neighbouring axes that every access walks as one are one axis: fewer indices, and none to divide for.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Joins neighbouring axes of one kind (parallel, or reduced without segments) where each access's outer
/// stride is the inner one times the inner extent, and nothing asks for an index along either.
void collapse_axes(Kernel& kernel);

}  // namespace smelt
