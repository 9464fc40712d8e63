// Keeps column values that one block computes and a later one would compute again: in the registers of a
// row's threads on a GPU, in a scratch row on a CPU.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

struct KeepColumnsOptions {
  /// Keeps only values that take many instructions, or read random bits. Otherwise keeps as late a value as
  /// possible, so that one register replaces several loads; values that depend on indices and row scalars
  /// alone are not worth a register.
  bool expensive_only = false;
  /// Takes a value that a block has stored from the stored instruction instead of reading it back from
  /// memory.
  bool forward_stores = true;
};

/// Fills schedule.cached and drops instructions that have become unused. Returns false, and changes nothing,
/// where the blocks share nothing. Does nothing in a kernel that is flat, has reduced axes or has several
/// column axes.
bool keep_columns(Kernel& kernel, const KeepColumnsOptions& options = {});

}  // namespace smelt
