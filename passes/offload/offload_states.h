// offload_states: moves masters and moments, or a part of them, to the memory of the host
// (State::resident), and cuts the updates that touch them into slices (passes/offload/slice_kernel.h), so
// that stream_states can copy them in and out piece by piece.
//
// A state can be moved as far as every step that touches it is a kernel over its elements alone: an update
// is, a matmul or a norm is not, and of masters forward reads biases and norms, which stay with all behind
// them. What that is depends on the program, not on names. Of each the same share of such elements moves.
// Before schedule_kernels: slices get schedules of their own. The numbers that the program computes stay the
// same, to the bit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace smelt {

struct OffloadStatesOptions {
  double share = 0;       // of the bytes of states that can be moved: 0 to 1
  int64_t bytes = 0;      // at least so many of them, or all
  int64_t bucket = 0;     // bytes of a state that are copied at once, about; 0: 32 MiB, or a part of it
  bool automatic = true;  // a budget of memory may choose the bytes
  bool on() const { return share > 0 || bytes > 0; }
  bool operator==(const OffloadStatesOptions&) const = default;
};

/// What can be moved at all.
struct MovableStates {
  struct Refusal {
    std::string state, reason;
  };
  std::map<int, int64_t> elements;     // by state: from the first on, those that updates alone touch
  std::vector<Refusal> refusals = {};  // of states of the roles parameter and optimizer
  int64_t bytes = 0;
};
MovableStates movable_states(const Program& program);

/// Throws Error with the reasons where something is to be moved and nothing can be.
bool offload_states(Program& program, const OffloadStatesOptions& options);

}  // namespace smelt
