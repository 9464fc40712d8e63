// stream_states: copies what the host holds of states (State::resident) to the device piece by piece, each in
// front of the kernel that works on it, and back behind it. Kernels then work on windows in the arena; three
// for each state take turns, so that while a piece is worked on, the one before it goes out and the one
// behind it comes in (CopyStep::waited_at).
//
// In front of plan_memory and behind all that moves steps. Contract: each step reads and writes what it did;
// none but copies touches the host's memory any more.
#pragma once

#include "ir/program.h"

namespace smelt {

struct StreamStatesOptions {
  int windows = 3;  // of a state, at least one
};

bool stream_states(Program& program, const StreamStatesOptions& options);

}  // namespace smelt
