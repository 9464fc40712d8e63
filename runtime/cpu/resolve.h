// An entry whose sizes are all evaluated for one set of symbol values. A run of it only sets pointers and
// calls functions.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/philox.h"
#include "runtime/cpu/attention.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt {

/// Arguments of one run that steps read.
struct StepRun {
  const Philox& random;
  RankGroups* ranks;  // null: the plan runs on one rank
};
/// Function that runs one step, whose sizes are evaluated.
using Launch = std::function<void(const StepRun&)>;

struct ResolvedEntry {
  /// A pointer into the buffer of an input or output. The address of the buffer changes from run to run, so
  /// each run sets the pointer to this address plus `offset_bytes`.
  struct Patch {
    void** pointer;
    int buffer;
    int64_t offset_bytes;
  };
  struct ResolvedPort {
    int64_t bytes = 0;          // of the dense tensor, at these symbol values
    bool whole_buffer = false;  // the tensor has all elements of its buffer
  };

  ResolvedEntry() = default;
  ResolvedEntry(ResolvedEntry&&) = default;  // patches stay valid: a move keeps the elements of a deque
  ResolvedEntry& operator=(ResolvedEntry&&) = default;

  const PlanEntry* entry = nullptr;
  SymbolValues values;
  std::vector<Launch> launches;  // per step
  std::deque<void*> pointers;    // addresses of the steps' operands, which the launches refer to
  std::vector<Patch> patches;
  std::vector<ResolvedPort> inputs, outputs;
};

/// Evaluates the entry's sizes for these values. Throws Error if a value is outside its bounds, or if a step
/// would touch memory outside its buffers. `functions` has the functions of each kernel. `bases` has the
/// address of each buffer; null for inputs and outputs, for which the result has patches. Requires: `plan`
/// outlives the result, whose launches refer to it.
ResolvedEntry resolve(const Plan& plan, const PlanEntry& entry, const SymbolValues& values,
                      const std::vector<KernelFunctions>& functions, const std::vector<std::byte*>& bases);

}  // namespace smelt
