// Last-block epilogues: a step that is small enough for one block becomes the tail of another step's kernel,
// and the block that ends last runs it (Kernel::tail). Examples are the end of sums over all elements, the
// scalars computed from them, and unrelated scalars that save a launch this way. A step moves only past steps
// that it shares no memory with, and stays in its phase.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool attach_tails(Program& program);

}  // namespace smelt
