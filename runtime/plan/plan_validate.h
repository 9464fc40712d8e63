// Validation of plans before use, because a plan may come from a damaged file or from a compiler with a
// fault.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Checks every index, count, offset, size, role and name, with sizes at the symbols' bounds, and that steps
/// give kernels the arguments that these expect. Checks at extreme values of the symbols that steps reach no
/// element outside their buffers and that kernels index tables in range; executors check both again at the
/// values of a launch. Buffers that are live at the same time share memory of the arena only where a step
/// declares it. Throws Error (invalid_file).
void validate(const Plan& plan);

/// Checks that one step stays inside its buffers at these values. `place` names the step in messages.
void check_ranges(const Plan& plan, const Step& step, const SymbolValues& values, const std::string& place);

/// Checks that memory of the entry's arena is shared only as declared.
void check_lifetimes(const Plan& plan, const PlanEntry& entry);

/// Bytes of the arena that belong to a buffer from step `first` to step `last`, both included.
struct LiveRange {
  int64_t begin, end;
  int first, last;
  bool overlaps(const LiveRange& other) const {  // in memory and in time
    return begin < other.end && other.begin < end && first <= other.last && other.first <= last;
  }
};
/// Returns one range per part of the buffer, by address; one range if the buffer has no parts.
std::vector<LiveRange> live_ranges(const Buffer& buffer);

/// "kernel", "gemm", ...
std::string_view kind_name(const Step& step);
/// "entry 'train_step', step 12 (gemm h.0.attn)"
std::string describe_step(const PlanEntry& entry, size_t index);

/// Returns values at which sizes are extreme: all symbols at their minimum, and each symbol in turn as large
/// as the bounds allow.
std::vector<SymbolValues> extreme_values(const Symbols& symbols);

inline bool in_arena(Role role) {
  return role == Role::saved || role == Role::temporary || role == Role::workspace;
}

}  // namespace smelt
