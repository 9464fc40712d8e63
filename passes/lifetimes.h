// Lifetimes of an entry's buffers over its steps, for ordering and planning.
#pragma once

#include <map>
#include <vector>

#include "ir/program.h"

namespace smelt {

struct Lifetime {
  int first = -1, last = -1;  // steps, both ends included
  int64_t bytes = 0;          // at the bounds
};

/// Buffers that the arena holds: not states, constants, inputs and outputs.
bool in_arena(const Buffer& buffer);
int64_t bytes_at_bounds(const Program& program, const Buffer& buffer);
/// By buffer number, of the buffers in the arena that the steps use.
std::map<int, Lifetime> lifetimes(const Program& program, const std::vector<Step>& steps);
/// The largest sum of bytes live at one step: no plan needs less.
int64_t peak_live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps);

}  // namespace smelt
