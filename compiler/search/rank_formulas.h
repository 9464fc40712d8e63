// Textbook formulas for the memory and the traffic of ranks that train one model, for comparison with the
// planned values. They are derived from the states and the mesh of a program, for any model.
#pragma once

#include <cstdint>

#include "ir/program/program.h"

namespace smelt {

/// Returns the bytes of all states on each rank, without the padding of flat states. A state has
/// (elements / number of ranks that it is sharded over) * size of an element.
double state_bytes_by_formula(const Program& program);

/// Returns the number of trained elements, without padding, of the parameters that all ranks along `data`
/// have in common.
int64_t trained_elements(const Program& program);

/// Returns the bytes of gradients and parameters that an update of one micro-batch moves over each link along
/// the axis `data` of k ranks. This is 2(k-1)N/k, or 3(k-1)N/k if parameters are sharded, and so are gathered
/// for forward and for backward. N is the number of bytes of the trained elements in the type that is
/// exchanged. Returns 0 if there are no ranks along `data`.
double data_bytes_by_formula(const Program& program);

}  // namespace smelt
