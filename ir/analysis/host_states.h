// Uses of states with a host part (State::resident) by the steps of a program.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Returns the state of a buffer if it has a host part; else null.
const State* host_state(const Program& program, int buffer);
/// Returns the bytes of a state in GPU memory, at the bounds.
int64_t device_bytes(const Program& program, const State& state);
/// Returns whether the reference is to host memory.
bool is_held_by_host(const Program& program, const BufferRef& ref);
/// Returns whether the step touches any such state, in either memory.
bool uses_host_states(const Program& program, const Step& step);

}  // namespace smelt
