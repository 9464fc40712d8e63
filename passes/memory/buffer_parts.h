// A flat buffer, such as that of all gradients, is written piece by piece. Its pieces get lifetimes of their
// own here, so that other buffers can use the memory of those that are not written yet or not read any more.
#pragma once

#include "passes/memory/lifetimes.h"

namespace smelt {

/// Fills Lifetime::parts of the buffers of one size whose steps touch parts of them only. A part lives from
/// the first step that touches any of it to the last. What no step touches, such as padding or parameters
/// that an entry does not gather, lives at none (-1) and takes no memory.
void find_parts(const Program& program, const std::vector<Step>& steps, std::map<int, Lifetime>& lifetimes);

}  // namespace smelt
