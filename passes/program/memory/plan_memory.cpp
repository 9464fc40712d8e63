#include "passes/program/memory/plan_memory.h"

#include <algorithm>

#include "ir/analysis/host_states.h"
#include "passes/program/memory/buffer_parts.h"
#include "passes/program/memory/memory_passes.h"
#include "passes/program/memory/place_allocations.h"

namespace smelt {
namespace {

/// Memory that an entry's steps need, before offsets are chosen.
struct EntryMemory {
  std::map<int, Lifetime> lifetimes;
  std::vector<Allocation> allocations;
  std::vector<int64_t> least;  // bytes that no placement can undercut, at each step
};

EntryMemory memory_of(const Program& program, const PlanEntry& entry) {
  EntryMemory memory;
  memory.lifetimes = lifetimes(program, entry.steps);
  find_parts(program, entry.steps, memory.lifetimes);
  memory.allocations = make_allocations(entry.steps, memory.lifetimes);
  memory.least = least_bytes(memory.allocations, entry.steps.size());
  return memory;
}

void record(Program& program, int number, const Lifetime& life, int64_t offset) {
  Buffer& buffer = program.buffers[static_cast<size_t>(number)];
  buffer.offset_bytes = offset;
  buffer.bytes = life.bytes;
  buffer.first_step = life.first;
  buffer.last_step = life.last;
  buffer.parts = life.parts;
}

void place(Program& program, PlanEntry& entry, const EntryMemory& memory) {
  const ArenaPlacement placement = place_allocations(memory.allocations, memory.least);
  entry.arena_bytes = placement.bytes;
  for (size_t i = 0; i < memory.allocations.size(); ++i)
    for (const int buffer : memory.allocations[i].buffers)
      record(program, buffer, memory.lifetimes.at(buffer), placement.offsets[i]);
}

/// Arena bytes of each role at the step where most is live; states and ports as they are.
std::map<Role, int64_t> bytes_by_role(const Program& program, const EntryMemory& memory) {
  std::map<Role, int64_t> by_role;
  const auto peak = static_cast<int>(std::ranges::max_element(memory.least) - memory.least.begin());
  for (const Allocation& allocation : memory.allocations)
    for (const LiveRange& range : allocation.ranges)
      if (range.first <= peak && peak <= range.last)
        by_role[program.buffers[static_cast<size_t>(allocation.buffers.front())].role] +=
            range.end - range.begin;
  for (const Buffer& buffer : program.buffers)
    if (buffer.state >= 0)
      by_role[buffer.role] += device_bytes(program, program.states[static_cast<size_t>(buffer.state)]);
  return by_role;
}

MemoryReport report_of(const Program& program, const PlanEntry& entry, const EntryMemory& memory) {
  MemoryReport report{.entry = entry.name, .arena = entry.arena_bytes, .by_role = {}};
  for (const auto& [buffer, life] : memory.lifetimes) report.without_reuse += aligned(life.bytes);
  if (!memory.least.empty()) report.lower_bound = std::ranges::max(memory.least);
  report.by_role = bytes_by_role(program, memory);
  return report;
}

}  // namespace

bool plan_memory(Program& program, const PlanMemoryOptions& options) {
  check_sizes(program);
  for (Buffer& buffer : program.buffers)
    if (!in_arena(buffer)) buffer.bytes = bytes_at_bounds(program, buffer);
  for (PlanEntry& entry : program.entries) {
    const EntryMemory memory = memory_of(program, entry);
    place(program, entry, memory);
    if (options.report) options.report->push_back(report_of(program, entry, memory));
  }
  check_memory(program);
  return true;
}

}  // namespace smelt
