// Lifetimes of the parts of a flat buffer that is written piece by piece, such as the buffer of all
// gradients. Other buffers can then use the memory of parts that are not written yet, or not read any more.
#pragma once

#include "passes/program/memory/lifetimes.h"

namespace smelt {

/// Fills Lifetime::parts of each buffer that has a constant size, if some steps touch only a part of it. A
/// part lives from the first step that touches an element of it to the last. Elements that no step touches,
/// such as padding, have no lifetime (first_step and last_step are -1), and other buffers may always use
/// their memory.
void find_parts(const Program& program, const std::vector<Step>& steps, std::map<int, Lifetime>& lifetimes);

}  // namespace smelt
