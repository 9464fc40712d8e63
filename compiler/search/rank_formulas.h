// Textbook formulas for the memory and the traffic of ranks that train one model, for comparison with the
// planned values. They are derived from the states and the mesh of a program, for any model.
#pragma once

#include <cstdint>

#include "ir/program/program.h"

namespace smelt {

/// Bytes of states on each rank without the padding of flat states: (elements / ranks that share them) *
/// size.
double state_bytes_by_formula(const Program& program);

/// Elements that a rank trains, in parameters that ranks along `data` have in common: segments, without
/// padding.
int64_t trained_elements(const Program& program);

/// Bytes that an update of one micro-batch moves over each link along `data`, of gradients and parameters:
/// with N bytes of those in the type that gradients are exchanged in, 2(k-1)N/k, and 3(k-1)N/k where
/// parameters are gathered for forward and for backward, too. 0 where no ranks are along it.
double data_bytes_by_formula(const Program& program);

}  // namespace smelt
