// Proof that a program's arena is planned as its steps need it.
#pragma once

#include "ir/program.h"

namespace smelt {

/// Finds lifetimes anew and throws Error (internal) naming two buffers that overlap while both are live and
/// that no step may alias. Takes n log n time for n live ranges.
void check_memory(const Program& program);

}  // namespace smelt
