// plan_memory: places every temporary of every entry in one arena by its lifetime.
//
// Buffers share memory in place if a step may alias them (passes/program/memory/allocation.h). A buffer that
// is written piece by piece, such as that of all gradients, has one lifetime per piece
// (passes/program/memory/buffer_parts.h), so that values saved for backward can use the memory of later
// gradients. A search then finds offsets at which no two live buffers overlap
// (passes/program/memory/place_allocations.h), and a checker verifies the result
// (passes/program/memory/memory_passes.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

struct MemoryReport {
  std::string entry;
  int64_t arena = 0;                // planned bytes
  int64_t without_reuse = 0;        // with separate memory for every buffer
  int64_t lower_bound = 0;          // the peak of live bytes, aliases counted once: no placement needs less
  std::map<Role, int64_t> by_role;  // states once; arena buffers at the step with most live bytes
};

struct PlanMemoryOptions {
  std::vector<MemoryReport>* report = nullptr;
};

/// Sets Buffer::offset_bytes, bytes, first_step, last_step, parts and PlanEntry::arena_bytes.
bool plan_memory(Program& program, const PlanMemoryOptions& options);

}  // namespace smelt
