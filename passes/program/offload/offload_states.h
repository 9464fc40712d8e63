// offload_states: moves masters and moments, or a part of them, to host memory (State::resident), and cuts
// their updates into slices (passes/program/offload/slice_kernel.h), so that stream_states can copy them
// piece by piece.
//
//   state "moment1" : f32[N]        =>    the first elements of "moment1" are in host memory
//   update over all N elements            one update per slice of these and of the other elements
//
// The host part of a state can contain only elements that elementwise kernels alone touch. An update is such
// a kernel; a matmul or a norm is not. For example, forward reads biases and norms of the masters, so these
// stay on the device, with all elements after them. The program decides that, not names. The same share of
// each state's movable elements moves. Runs before schedule_kernels, because slices get their own schedules.
// Ensures: the numbers that the program computes stay bitwise equal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct OffloadStatesOptions {
  double share = 0;       // fraction of the bytes of movable states: 0 to 1
  int64_t bytes = 0;      // least bytes to move, or all movable bytes
  int64_t bucket = 0;     // approximate bytes of a state per copy; 0: 32 MiB, or a part of it
  bool automatic = true;  // a memory budget may choose the bytes
  bool on() const { return share > 0 || bytes > 0; }
  bool operator==(const OffloadStatesOptions&) const = default;
};

template <typename Field>
void visit_options(Field& field, OffloadStatesOptions& o) {
  field("share", o.share), field("bytes", o.bytes), field("bucket", o.bucket);
}
/// Movable parts of states.
struct MovableStates {
  struct Refusal {
    std::string state, reason;
  };
  std::map<int, int64_t> elements;     // by state: number of elements that only updates touch
  std::vector<Refusal> refusals = {};  // of states of the roles parameter and optimizer
  int64_t bytes = 0;
};
MovableStates movable_states(const Program& program);

/// Moves the states. Throws Error with the reasons if a move is requested and no state can be moved.
bool offload_states(Program& program, const OffloadStatesOptions& options);

}  // namespace smelt
