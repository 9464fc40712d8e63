// Housekeeping after passes that make instructions needless.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Takes out of the blocks, and of the kernel, what no store and no accumulation needs, and empty blocks; the
/// others move up.
void drop_unused_instructions(Kernel& kernel);

/// Numbers instructions in the order of the blocks.
void number_by_blocks(Kernel& kernel);

}  // namespace smelt
