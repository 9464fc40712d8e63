// Places every temporary of every entry in one arena by its lifetime. Buffers share memory in place where a
// step may alias them (passes/memory/allocation.h), a buffer that is written piece by piece, as all gradients
// are, has a lifetime for every piece (passes/memory/buffer_parts.h): what is saved for backward is placed
// where gradients will be. A search then finds offsets at which nothing overlaps that lives at the same time
// (passes/memory/place_allocations.h), and a checker proves it (passes/memory/check_memory.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace smelt {

struct MemoryReport {
  std::string entry;
  int64_t arena = 0;                // what is planned
  int64_t without_reuse = 0;        // every buffer its own memory
  int64_t lower_bound = 0;          // the peak of live bytes, aliases counted once: no placement needs less
  std::map<Role, int64_t> by_role;  // states once, arena buffers at the step where most is live
};

struct PlanMemoryOptions {
  std::vector<MemoryReport>* report = nullptr;
};

/// Sets Buffer::offset_bytes, bytes, first_step, last_step, parts and PlanEntry::arena_bytes.
bool plan_memory(Program& program, const PlanMemoryOptions& options);

}  // namespace smelt
