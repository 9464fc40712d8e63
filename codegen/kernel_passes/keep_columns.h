// Column values that one block computes and a later one computes again become values kept from the first: in
// the registers of a row's threads on a GPU, in a scratch row on a CPU.
#pragma once

#include "ir/kernel.h"

namespace smelt {

struct KeepColumnsOptions {
  /// Only what takes many instructions, or reads random bits. Else as late a value as possible, so that one
  /// register stands for several loads; what depends on indices and row scalars alone is not worth one.
  bool expensive_only = false;
  /// What a block has stored is taken from the value that it stored, not read back from memory.
  bool forward_stores = true;
};

/// Fills schedule.cached and drops what nobody needs any more. False, and nothing changed, where the blocks
/// share nothing. Does nothing in a kernel that is flat, has reduced axes or several column axes.
bool keep_columns(Kernel& kernel, const KeepColumnsOptions& options = {});

}  // namespace smelt
