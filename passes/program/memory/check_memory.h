// Check that a program's arena plan suits its steps.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Computes lifetimes again and throws Error (internal) naming two buffers that overlap while both are live
/// and that no step may alias. Takes n log n time for n live ranges.
void check_memory(const Program& program);

}  // namespace smelt
