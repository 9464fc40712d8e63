// States that are stored partly in host memory, because they do not fit in GPU memory (State::resident), and
// the uses of such states by the steps of a program.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Returns the state that is stored in `buffer` if a part of it is in host memory; else null.
const State* host_state(const Program& program, int buffer);
/// Returns the number of bytes of a state that are in GPU memory, at the symbols' bounds.
int64_t device_bytes(const Program& program, const State& state);
/// Returns whether `ref` refers to a state, and begins in the part of it that is in host memory.
bool is_held_by_host(const Program& program, const BufferRef& ref);
/// Returns whether the step reads or writes any part of a state that is stored partly in host memory.
bool uses_host_states(const Program& program, const Step& step);

}  // namespace smelt
