// offload_states: moves the f32 parameters and the optimizer's moments, or a part of them, to host memory
// (State::resident), and cuts their updates into slices (passes/program/offload/slice_kernel.h), so that
// stream_states can copy them piece by piece.
//
//   state "moment1" : f32[N]        =>    the first elements of "moment1" are in host memory
//   update over all N elements            one update per slice of the N elements
//
// An element can move only if all kernels that touch it are elementwise, as an update is; a matmul or a norm
// is not. The host part is contiguous from the state's first element. For example, forward reads biases and
// norms from the f32 parameters, so the first of these and all elements after it stay on the device. The pass
// finds the movable elements from the steps of the program, not by the names of states. The pass moves the
// same fraction of each state's movable elements, rounded so that the host part ends where a slice ends.
// Runs before schedule_kernels, because slices get their own schedules. Ensures: the numbers that the
// program computes stay bitwise equal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

struct OffloadStatesOptions {
  double share = 0;       // fraction of the movable bytes to move: 0 to 1
  int64_t bytes = 0;      // least bytes to move, also if `share` is less; at most all movable bytes move
  int64_t bucket = 0;     // approximate bytes of a state per copy; 0: 32 MiB, or less for small states
  bool automatic = true;  // true: a search for a plan within a memory budget may choose `bytes`
  /// Returns whether a move is requested.
  bool on() const { return share > 0 || bytes > 0; }
  bool operator==(const OffloadStatesOptions&) const = default;
};

template <typename Field>
void visit_options(Field& field, OffloadStatesOptions& o) {
  field("share", o.share), field("bytes", o.bytes), field("bucket", o.bucket);
}
/// Movable parts of states with the roles parameter and optimizer.
struct MovableStates {
  struct Refusal {
    std::string state, reason;
  };
  std::map<int, int64_t> elements;     // by number of the state: number of movable elements at its start
  std::vector<Refusal> refusals = {};  // states without movable elements
  int64_t bytes = 0;                   // sum over `elements`
};
/// Finds the movable parts.
MovableStates movable_states(const Program& program);

/// Moves the states; returns false if the options request no move. Throws Error with the reasons if a move is
/// requested and no state can be moved.
bool offload_states(Program& program, const OffloadStatesOptions& options);

}  // namespace smelt
