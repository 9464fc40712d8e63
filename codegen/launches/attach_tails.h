// Steps so small that one block does all of their work become the tail of another step's kernel: the block
// that ends last goes on with them (Kernel::tail). That is how sums over all elements end, the scalars that
// follow from them, and scalars that stand elsewhere and may as well be there. A step moves only past steps
// that it shares no memory with, and stays in its phase.
#pragma once

#include "ir/program.h"

namespace smelt {

/// For programs that a GPU will run, between order_steps and plan_memory.
bool attach_tails(Program& program);

}  // namespace smelt
