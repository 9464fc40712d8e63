#include "runtime/engine/training/port_rings.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/plan/retained_ports.h"

namespace smelt {

namespace {

/// Returns the bytes of the entries' retained outputs, at the symbols' bounds.
std::map<std::string, int64_t> kept_bytes(const Plan& plan, const std::vector<const PlanEntry*>& entries) {
  std::map<std::string, int64_t> bytes;
  for (const PlanEntry* entry : entries)
    for (const auto* ports : {&entry->inputs, &entry->outputs})
      for (const Port& port : *ports)
        if (is_kept_port(port.name))
          bytes[port.name] = std::max(bytes[port.name], plan.buffers[static_cast<size_t>(port.buffer)].bytes);
  return bytes;
}

}  // namespace

void PortRings::grow(const Plan& plan, const std::vector<const PlanEntry*>& entries, int64_t size,
                     StageMemory& memory) {
  size_ = size, bytes_of_one_ = 0;
  const auto kept = kept_bytes(plan, entries);
  for (const auto& [name, bytes] : kept) bytes_of_one_ += bytes;
  for (const auto& [name, bytes] : kept)
    while (std::ssize(places_[name]) < size) add_place(name, bytes, memory);
}

void PortRings::add_place(const std::string& port, int64_t bytes, StageMemory& memory) {
  try {
    places_[port].push_back(memory.add_place(bytes));
  } catch (const Error& error) {
    fail_with(
        error.status(),
        "the stage keeps {} micro-batches of a part at once, of {:.2f} GiB each: with fewer micro-batches, "
        "the order 1f1b, smaller ones (--batch) or more stages it keeps less ({})",
        size_, static_cast<double>(bytes_of_one_) / (1 << 30), error.what());
  }
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
