// Places every temporary of every entry in one arena by its lifetime: buffers in order of decreasing size,
// each at the lowest 256-byte-aligned offset where nothing that lives at the same time lies. An output takes
// the memory of an input that dies in the same step where the step may alias the two. A buffer that is
// written piece by piece, as all gradients are, has a lifetime for every piece
// (passes/memory/buffer_parts.h): what is saved for backward lies where gradients will. A checker then proves
// that what is live does not overlap.
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

/// Throws Error naming two buffers that overlap while both are live and that no step may alias.
void check_memory(const Program& program);

}  // namespace smelt
