// Lifetimes of the parts of a flat buffer that is written piece by piece, such as that of all gradients.
// Other buffers can then use the memory of parts that are not written yet or not read any more.
#pragma once

#include "passes/program/memory/lifetimes.h"

namespace smelt {

/// Fills Lifetime::parts of buffers of constant size whose steps touch only parts of them. A part lives from
/// the first step that touches any of it to the last. Elements that no step touches, such as padding or
/// parameters that an entry does not gather, have no lifetime (-1) and take no memory.
void find_parts(const Program& program, const std::vector<Step>& steps, std::map<int, Lifetime>& lifetimes);

}  // namespace smelt
