// What a program's steps touch of states that the host holds a part of (State::resident).
#pragma once

#include "ir/program.h"

namespace smelt {

/// The state of a buffer, where the host holds a part of it; else null.
const State* host_state(const Program& program, int buffer);
/// Bytes of a state at the bounds that a GPU holds.
int64_t device_bytes(const Program& program, const State& state);
/// Whether the place lies in the host's memory.
bool is_held_by_host(const Program& program, const BufferRef& ref);
/// Whether the step touches any such state, in whichever memory.
bool uses_host_states(const Program& program, const Step& step);

}  // namespace smelt
