#include "ir/analysis/host_states.h"

#include <algorithm>

namespace smelt {

const State* host_state(const Program& program, int buffer) {
  const int state = program.buffers[static_cast<size_t>(buffer)].state;
  if (state < 0 || program.states[static_cast<size_t>(state)].resident < 0) return nullptr;
  return &program.states[static_cast<size_t>(state)];
}

int64_t device_bytes(const Program& program, const State& state) {
  const int64_t all = bytes_at_bounds(program.symbols, element_count(state.shape), state.dtype);
  return all - std::max<int64_t>(0, state.resident) * size_of(state.dtype);
}

bool is_held_by_host(const Program& program, const BufferRef& ref) {
  const State* state = host_state(program, ref.buffer);
  return state && ref.offset.constant().value_or(0) < state->resident;
}

bool uses_host_states(const Program& program, const Step& step) {
  const auto is_held = [&](int buffer) { return host_state(program, buffer) != nullptr; };
  return std::ranges::any_of(step.reads, is_held) || std::ranges::any_of(step.writes, is_held);
}

}  // namespace smelt
