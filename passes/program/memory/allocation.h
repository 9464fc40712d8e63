// Allocations of the arena, the memory of an entry's temporary buffers. If a step writes its output in place,
// over an input, the two buffers form one allocation. Any other buffer has an allocation of its own.
#pragma once

#include <vector>

#include "passes/program/memory/lifetimes.h"

namespace smelt {

/// One allocation of the arena, without an offset.
struct Allocation {
  std::vector<int> buffers;       // numbers in Program::buffers
  Lifetime life;                  // of all buffers together
  std::vector<LiveRange> ranges;  // live_ranges(life, 0): as if the allocation began at offset 0
};

constexpr int64_t kArenaAlignment = 256;  // bytes
/// Rounds up to a multiple of kArenaAlignment.
int64_t aligned(int64_t bytes);

/// Returns the allocations of all buffers. An output of a step shares the memory of an input if the step may
/// alias the two (Step::may_alias), no earlier step uses the output, no later step uses the input, and the
/// input's memory is large enough.
std::vector<Allocation> make_allocations(const std::vector<Step>& steps,
                                         const std::map<int, Lifetime>& lifetimes);

/// Returns for each of `steps` steps a lower bound of the bytes that any placement needs at that step: the
/// sum of the sizes of the live ranges. Sizes are counted in units of kArenaAlignment bytes. An allocation
/// may have parts with different lifetimes (BufferPart). The size of a part counts only the units that are
/// completely in the part, because a part may begin within a unit. The size of an allocation without parts is
/// rounded up to whole units.
std::vector<int64_t> least_bytes(const std::vector<Allocation>& allocations, size_t steps);

}  // namespace smelt
