#include "runtime/session/host_stage_memory.h"

#include <algorithm>

namespace smelt {

int HostStageMemory::add_place(int64_t bytes) {
  places_.emplace_back(std::max<int64_t>(1, bytes));
  return static_cast<int>(places_.size()) - 1;
}

std::span<std::byte> HostStageMemory::bytes_of(const Part& part) {
  return places_.at(static_cast<size_t>(part.place)).bytes().first(static_cast<size_t>(part.bytes));
}

void HostStageMemory::run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
                          const Philox& random) {
  std::vector<const void*> inputs = ports.inputs;
  std::vector<void*> outputs = ports.outputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const int place = ports.input_places[i]; place != kHost)
      inputs[i] = places_.at(static_cast<size_t>(place)).data();
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const int place = ports.output_places[i]; place != kHost)
      outputs[i] = places_.at(static_cast<size_t>(place)).data();
  executor_.run(entry, symbols, inputs, outputs, random);
}

void HostStageMemory::send(std::span<const Part> parts, int64_t to) {
  for (const Part& part : parts)
    if (part.bytes > 0) group_.send(bytes_of(part), to);
}

void HostStageMemory::receive(std::span<const Part> parts, int64_t from) {
  for (const Part& part : parts)
    if (part.bytes > 0) group_.receive(bytes_of(part), from);
}

/// The first holder sums the others' elements, and sends them the sum.
void HostStageMemory::add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) {
  const std::span<std::byte> bytes = executor_.state(state).subspan(
      static_cast<size_t>(first) * sizeof(float), static_cast<size_t>(count) * sizeof(float));
  if (group_.rank() != holders.front()) {
    group_.send(bytes, holders.front());
    group_.receive(bytes, holders.front());
    return;
  }
  auto* own = reinterpret_cast<float*>(bytes.data());
  std::vector<float> others(static_cast<size_t>(count));
  for (const int64_t holder : holders) {
    if (holder == holders.front()) continue;
    group_.receive(std::as_writable_bytes(std::span(others)), holder);
    for (size_t i = 0; i < others.size(); ++i) own[i] += others[i];
  }
  for (const int64_t holder : holders)
    if (holder != holders.front()) group_.send(bytes, holder);
}

}  // namespace smelt
