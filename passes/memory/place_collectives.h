// Moves exchanges of parts so that memory is held for a short time: a gather goes to just in front of the
// first step that needs any of what it makes, a reduce_scatter, with the zeros of padding that it reads, to
// just behind the last step that makes any of what it reads. With a step for each bucket of a flat state,
// buckets of gathered parameters and of gradients live one by one (BufferPart). Reads and writes of every
// element keep their order, so results do not change; all ranks run the same steps in the same order. What is
// gathered for no step goes.
#pragma once

#include "ir/program.h"

namespace smelt {

/// After order_steps and before plan_memory. Moves nothing that lies in states or is part of a choice.
bool place_collectives(Program& program);

}  // namespace smelt
