#include "runtime/training/port_rings.h"

#include <algorithm>

#include "runtime/plan/kept_ports.h"

namespace smelt {

PortRings::PortRings(const Plan& plan, const std::vector<const PlanEntry*>& entries, int64_t size,
                     StageMemory& memory)
    : size_(size) {
  std::map<std::string, int64_t> bytes;
  for (const PlanEntry* entry : entries)
    for (const auto* ports : {&entry->inputs, &entry->outputs})
      for (const Port& port : *ports)
        if (is_kept_port(port.name))
          bytes[port.name] = std::max(bytes[port.name], plan.buffers[static_cast<size_t>(port.buffer)].bytes);
  for (const auto& [name, most] : bytes)
    for (int64_t i = 0; i < size; ++i) places_[name].push_back(memory.add_place(most));
}

int PortRings::place(std::string_view port, int64_t micro_batch) const {
  const auto found = places_.find(port);
  if (found == places_.end()) return StageMemory::kHost;
  return found->second[static_cast<size_t>(micro_batch % size_)];
}

int64_t places_needed(const std::vector<PipelineStep>& steps, int64_t part) {
  std::map<int64_t, std::pair<size_t, size_t>> spans;  // by micro-batch: its first and last step
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].part == part) spans.try_emplace(steps[i].micro_batch, i, i).first->second.second = i;
  const auto fits = [&](int64_t size) {
    return std::ranges::all_of(spans, [&](const auto& span) {
      const auto next = spans.find(span.first + size);
      return next == spans.end() || next->second.first > span.second.second;
    });
  };
  int64_t size = 1;
  while (!fits(size)) ++size;
  return size;
}

}  // namespace smelt
