// Clean-up after passes that make instructions unused.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Removes the instructions that no store and no accumulation needs, and empty blocks; the others move up.
void drop_unused_instructions(Kernel& kernel);

/// Numbers instructions in the order of the blocks.
void number_by_blocks(Kernel& kernel);

}  // namespace smelt
