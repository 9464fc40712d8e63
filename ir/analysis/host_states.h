// States of which a part is stored in host memory because it does not fit in GPU memory (State::resident),
// and their uses by the steps of a program.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Returns the state that is stored in `buffer` if a part of it is in host memory; else null.
const State* host_state(const Program& program, int buffer);
/// Returns the number of bytes of a state that are in GPU memory, at the symbols' bounds.
int64_t device_bytes(const Program& program, const State& state);
/// Returns whether the reference begins in the part of a state that is in host memory.
bool is_held_by_host(const Program& program, const BufferRef& ref);
/// Returns whether the step reads or writes a state that has a host part, in either part.
bool uses_host_states(const Program& program, const Step& step);

}  // namespace smelt
