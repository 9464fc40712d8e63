// stream_states: copies the host part of states (State::resident) to the device before each kernel that uses
// it, and back after the kernel.
//
//   k(s[i])    =>    copy s[i] to window; k(window); copy window to s[i]
//
// Kernels then work on windows in the arena. Each state has `windows` windows in rotation: while one piece is
// computed, the previous one is copied out and the next one is copied in (CopyStep::waited_at). Runs after
// all passes that move steps and before plan_memory. Ensures: each step reads and writes the same values;
// only copies touch host memory.
#pragma once

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct StreamStatesOptions {
  int windows = 3;  // per state, at least one
};

template <typename Field>
void visit_options(Field& field, StreamStatesOptions& o) {
  field("windows", o.windows);
}
bool stream_states(Program& program, const StreamStatesOptions& options);

}  // namespace smelt
