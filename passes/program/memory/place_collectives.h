// place_collectives: moves gathers and reduce_scatters next to their users, so that memory is held for a
// short time.
//
//   g = all_gather p; a; b; use g    =>    a; b; g = all_gather p; use g
//
// A gather moves to directly before the first step that reads any of its result. A reduce_scatter, with the
// zeros of padding that it reads, moves to directly after the last step that writes any of its operand. With
// one step per bucket of a flat state, buckets of gathered parameters and of gradients live one by one
// (BufferPart). Gathers without a reader are removed. Reads and writes of every element keep their order, so
// results do not change; all ranks run the same steps in the same order.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Moves the collectives. Runs after order_steps and before plan_memory. Does not move collectives between
/// states or steps that are part of a choice of variants.
bool place_collectives(Program& program);

}  // namespace smelt
