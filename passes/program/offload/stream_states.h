// stream_states: copies states between host and device, piece by piece. A part of a state may be stored in
// host memory (State::resident). Before a kernel reads a piece of this part, the piece is copied to the
// device. After a kernel writes a piece, the piece is copied back.
//
//   k(s[i])    =>    copy s[i] to window; k(window); copy window to s[i]
//
// Here s[i] is piece i of a state, and k is a kernel that updates it. A window is a buffer in the arena, the
// device memory of an entry's temporary buffers. Each state has several windows, which successive pieces use
// in rotation: while a kernel updates one piece, the previous piece is copied to the host and the next one to
// the device. Copies run concurrently with other steps; CopyStep::waited_at is the step that waits for a copy
// to end. Runs after all passes that move steps, and before plan_memory. Ensures: each step reads and writes
// the same values; only copies touch host memory.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct StreamStatesOptions {
  int windows = 3;  // number of windows per state; less than 1 counts as 1
};

template <typename Field>
void visit_options(Field& field, StreamStatesOptions& o) {
  field("windows", o.windows);
}
/// Adds the windows and the copies; returns whether any kernel uses a host part.
bool stream_states(Program& program, const StreamStatesOptions& options);

}  // namespace smelt
