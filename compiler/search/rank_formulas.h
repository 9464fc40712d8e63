// Textbook formulas for the memory and the traffic of ranks that train one model, for comparison with the
// planned values. They are derived from the states and the mesh of a program, for any model.
#pragma once

#include <cstdint>

#include "ir/program/program.h"

namespace smelt {

/// Returns the bytes of all states on each rank. A state has (elements / number of ranks that it is sharded
/// over) * size of an element. The padding between the tensors of a state that holds several is not counted.
double state_bytes_by_formula(const Program& program);

/// Returns the number of elements of the trained parameters, without padding, that the ranks along `data`
/// train together.
int64_t trained_elements(const Program& program);

/// Returns the bytes of gradients and parameters that an update of one micro-batch moves over each link along
/// the axis `data` of k ranks. This is 2(k-1)N/k. If the parameters are sharded, it is 3(k-1)N/k, because
/// they are gathered once for forward and once for backward. N is the number of bytes of the trained elements
/// in the type that is exchanged. Returns 0 if the mesh has no axis `data`.
double data_bytes_by_formula(const Program& program);

}  // namespace smelt
