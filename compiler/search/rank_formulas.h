// Textbook formulas for ranks that train one model: the memory of a rank, and the bytes that ranks exchange.
// Reports compare them with the memory and the collectives of the plan. The formulas use only the states and
// the mesh of a program, so they apply to any model.
#pragma once

#include <cstdint>

#include "ir/program/program.h"

namespace smelt {

/// Returns the bytes of all states on each rank. A state that is sharded over n ranks has (elements / n) *
/// size of an element on each of them. A state that holds several tensors has padding between them, which is
/// not counted.
double state_bytes_by_formula(const Program& program);

/// Returns the number of elements, without padding, of the trained parameters that the ranks along `data`
/// train together: the parameters of one pipeline stage. Of a parameter that is sharded along `model`, only
/// one rank's part counts.
int64_t trained_elements(const Program& program);

/// Returns the bytes of gradients and parameters that an update with one micro-batch moves over each link of
/// a ring of the k ranks along the axis `data`. Let N be the bytes of trained_elements() in the type in which
/// they are exchanged. The result is 2(k-1)N/k. If the parameters are sharded, it is 3(k-1)N/k, because they
/// are gathered once for forward and once for backward, in addition to the reduce-scatter of the gradients.
/// Returns 0 if the mesh has no axis `data`.
double data_bytes_by_formula(const Program& program);

}  // namespace smelt
