// plan_memory: chooses the offsets of each entry's temporary buffers in an arena, by their lifetimes.
//
// A step may write its output over an input, if Step::may_alias lists the two buffers
// (passes/program/memory/allocation.h). A buffer that is written piece by piece, such as the buffer of all
// gradients, has one lifetime per piece (passes/program/memory/buffer_parts.h). Until a piece is written,
// other values can use its memory. A search then finds offsets at which no two live buffers overlap
// (passes/program/memory/place_allocations.h), and check_memory verifies the result
// (passes/program/memory/memory_passes.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// Memory of one entry, in bytes at the symbols' upper bounds.
struct MemoryReport {
  std::string entry;
  int64_t arena = 0;          // size of the planned arena
  int64_t without_reuse = 0;  // size of an arena in which every buffer has separate memory
  int64_t lower_bound = 0;    // every placement needs at least this: the most bytes that are live at one step
  /// Bytes by role of the buffers. For roles of states: the bytes of the states in device memory. For other
  /// roles: the bytes of the arena that are live at the step with the most live bytes.
  std::map<Role, int64_t> by_role;
};

struct PlanMemoryOptions {
  std::vector<MemoryReport>* report = nullptr;  // receives a report per entry; null: no reports
};

/// Sets offset_bytes, bytes, first_step, last_step and parts of each Buffer, and PlanEntry::arena_bytes.
/// Returns true.
bool plan_memory(Program& program, const PlanMemoryOptions& options);

}  // namespace smelt
