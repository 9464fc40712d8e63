// An entry with all its sizes evaluated for one set of symbol values: a run then only sets pointers and makes
// calls.
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

/// State of one run that steps depend on.
struct StepRun {
  const Philox& random;
  RankGroups* ranks;
};
/// A step with its sizes evaluated.
using Launch = std::function<void(const StepRun&)>;

struct ResolvedEntry {
  /// A pointer into a buffer whose address changes from run to run.
  struct Patch {
    void** pointer;
    int buffer;
    int64_t offset_bytes;
  };
  struct ResolvedPort {
    int64_t bytes = 0;          // dense, at these values
    bool whole_buffer = false;  // the port has all elements of its buffer
  };

  ResolvedEntry() = default;
  ResolvedEntry(ResolvedEntry&&) = default;  // patches stay valid: a move keeps the elements of a deque
  ResolvedEntry& operator=(ResolvedEntry&&) = default;

  const PlanEntry* entry = nullptr;
  SymbolValues values;
  std::vector<Launch> launches;
  std::deque<void*> pointers;  // operands of the launches
  std::vector<Patch> patches;
  std::vector<ResolvedPort> inputs, outputs;
};

/// Checks all ranges at these values. `bases` holds the address of every buffer; null for inputs and outputs,
/// which become patches. Launches point into `plan`.
ResolvedEntry resolve(const Plan& plan, const PlanEntry& entry, const SymbolValues& values,
                      const std::vector<KernelFunctions>& functions, const std::vector<std::byte*>& bases);

}  // namespace smelt
